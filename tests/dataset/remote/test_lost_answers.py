"""A store whose answer is lost: the retry finds the object that the first request created."""

import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlparse

import pytest

from tests.object_store import Store, no_known_clients
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.objects import Objects


class Relay:
    """Between a client and the store. While `losing`, the first answer to a PUT is not passed on."""

    def __init__(self, to: tuple[str, int]):
        self._to, self.losing, self.lost = to, False, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client = self._listening.accept()[0]
            except OSError:
                return  # closed
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._to) as store:
            requested = threading.Event()
            threading.Thread(target=self._forth, args=(client, store, requested), daemon=True).start()
            while answer := store.recv(1 << 16):
                if self.losing and requested.is_set() and not answer.startswith(b"HTTP/1.1 100"):
                    self.losing, self.lost = False, self.lost + 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(answer)

    def _forth(self, client: socket.socket, store: socket.socket, requested: threading.Event) -> None:
        try:
            while data := client.recv(1 << 16):
                if data.startswith(b"PUT "):
                    requested.set()
                store.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def relay(object_store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    place = urlparse(object_store.environment["AWS_ENDPOINT_URL"])
    assert place.hostname is not None
    assert place.port is not None
    relay = Relay((place.hostname, place.port))
    monkeypatch.setenv("AWS_ENDPOINT_URL", relay.address)
    with no_known_clients():
        yield relay
    relay.close()


def test_a_retried_creation_recognises_its_own_object(object_store: Store, relay: Relay):
    objects = Objects(Remote(object_store.address("cell")))
    relay.losing = True
    assert objects.create("lock/1", b"mine")
    assert relay.lost == 1
    assert objects.read("lock/1") == b"mine"
    assert not objects.create("lock/1", b"theirs")
    assert objects.read("lock/1") == b"mine"
