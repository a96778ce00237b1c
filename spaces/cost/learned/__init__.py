"""The learned cost model of [A21]: features of stages, a small network, and costs made of both."""
