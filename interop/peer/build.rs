//! Generates the client from the project's own schema.
fn main() {
    let root = "../../kvrelay-transport-grpc/src/main/proto";
    let file = "dynamo/kvrelay/v1/relay.proto";
    println!("cargo:rerun-if-changed={root}/{file}");
    let schema = protox::compile([file], [root]).expect("the schema compiles");
    tonic_prost_build::configure()
        .build_server(false)
        .compile_fds(schema)
        .expect("a client is generated");
}
