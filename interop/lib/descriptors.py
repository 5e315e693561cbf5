"""Compares two schemas: whatever the first declares must stand unchanged in the second."""
from google.protobuf import descriptor_pb2

TYPES = descriptor_pb2.FieldDescriptorProto.Type
LABELS = descriptor_pb2.FieldDescriptorProto.Label


def outline(file):
    """Everything a file declares, as a flat mapping from a name to what makes it what it is."""
    facts = {"package": file.package, "syntax": file.syntax or "proto2"}
    for message in file.message_type:
        _message(facts, f"{file.package}.{message.name}", message)
    for enum in file.enum_type:
        _enum(facts, f"{file.package}.{enum.name}", enum)
    for service in file.service:
        for method in service.method:
            facts[f"rpc {file.package}.{service.name}/{method.name}"] = {
                "request": method.input_type, "response": method.output_type,
                "client streams": method.client_streaming,
                "server streams": method.server_streaming}
    return facts


def _message(facts, name, message):
    facts[f"message {name}"] = {
        "reserved numbers": [(one.start, one.end) for one in message.reserved_range],
        "reserved names": sorted(message.reserved_name)}
    for field in message.field:
        packed = field.options.packed if field.options.HasField("packed") else None
        facts[f"field {name}.{field.name}"] = {
            "number": field.number, "type": TYPES.Name(field.type),
            "label": LABELS.Name(field.label), "of": field.type_name,
            "optional": field.proto3_optional, "packed": packed, "json": field.json_name or json_name(field.name),
            "oneof": (message.oneof_decl[field.oneof_index].name
                      if field.HasField("oneof_index") else None)}
    for nested in message.nested_type:
        _message(facts, f"{name}.{nested.name}", nested)
    for enum in message.enum_type:
        _enum(facts, f"{name}.{enum.name}", enum)


def json_name(name):
    """The name in JSON where a compiler left it out because it is the derived one."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _enum(facts, name, enum):
    facts[f"enum {name}"] = {}
    for value in enum.value:
        facts[f"value {name}.{value.name}"] = {"number": value.number}


def differences(theirs, ours):
    """What they declare and we do not, or differently."""
    return [f"{name}: theirs {fact}, ours {ours.get(name, 'absent')}"
            for name, fact in theirs.items() if ours.get(name) != fact]


def additions(theirs, ours):
    return [name for name in ours if name not in theirs]
