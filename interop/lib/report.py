"""Counts what held and what did not, and says so as it goes."""


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def part(self, title):
        print(f"\n== {title}", flush=True)

    def note(self, text):
        print(f"   {text}", flush=True)

    def skip(self, what, why):
        print(f"SKIPPED {what}: {why}", flush=True)

    def check(self, what, holds, detail=""):
        """One comparison. The detail is shown only if it fails."""
        if holds:
            self.passed += 1
            print(f"ok      {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {what}: {detail}", flush=True)
        return holds

    def equal(self, what, ours, theirs):
        return self.check(what, ours == theirs, f"{shorten(ours)} is not {shorten(theirs)}")

    def crashed(self, what, error):
        self.failed += 1
        print(f"FAILED  {what}: {type(error).__name__}: {error}", flush=True)

    def summary(self):
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def shorten(value, limit=600):
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
