# usd-core wraps C++ classes and ships no stubs.
