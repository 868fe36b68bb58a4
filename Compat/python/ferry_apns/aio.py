"""A provider for asyncio."""
import asyncio

import ferry_apns as ferry


class AsyncProvider(object):
    """`await provider.send(notification)` is the outcome. Not for other threads."""

    def __init__(self, options, loop=None, on_event=None):
        """`on_event` is called with each event; the option "events" says how many are kept."""
        self._loop = loop or asyncio.get_event_loop()
        self._on_event = on_event or (lambda event: None)
        self.provider = ferry.Provider(dict(options, outcomes="all"))
        self._fd = self.provider.fd
        self._futures = {}
        self._next = 0
        self._waiting = []  # Of this turn of the loop. The next turn submits them in one call.
        self._batch = ferry.Batch([])
        self._submitted = None  # While close() waits: a future of the end of _submit().

    def send(self, notification):
        """Returns a future of the outcome. The tag of `notification` is not used.

        Waits in memory while the library is full: await outcomes now and then.
        """
        notification = ferry.Notification(*notification)._replace(tag=self._next)
        ferry.pack([notification])  # Raises here, and not for the whole batch.
        future = self._loop.create_future()
        if not self._futures:
            self._loop.add_reader(self._fd, self._ready)
        if not self._waiting:
            self._loop.call_soon(self._submit)
        self._waiting.append(notification)
        self._futures[self._next] = future
        self._next += 1
        return future

    def _submit(self):
        try:
            while self._batch or self._waiting:
                if not self._batch:
                    self._batch, self._waiting = ferry.Batch(self._waiting), []
                self.provider.submit(self._batch)
                if self._batch:
                    return  # Full: the descriptor tells of room.
        except ferry.FerryError as error:
            left = len(self._batch) + len(self._waiting)
            self._batch, self._waiting = ferry.Batch([]), []
            for tag in range(self._next - left, self._next):
                self._finish(tag, lambda future: future.set_exception(error))
        self._end_submission()

    def _ready(self):
        for event in self.provider.events():
            self._on_event(event)
        for outcome in self.provider.read():
            self._finish(outcome.tag, lambda future: future.set_result(outcome))
        self._submit()

    def _finish(self, tag, end):
        future = self._futures.pop(tag, None)
        if future is not None and not future.done():  # It may be cancelled.
            end(future)
        # With nothing to wait for the descriptor may stay readable.
        if not self._futures:
            self._loop.remove_reader(self._fd)

    def close(self, seconds=10):
        """An awaitable: sends what it got, as Provider.close(). Soon after, each future is done."""
        end = self._loop.time() + seconds
        closed = self._loop.create_future()

        def finish(_):
            timer.cancel()
            left = max(end - self._loop.time(), 0)
            self._loop.run_in_executor(None, self.provider.close, left).add_done_callback(tell)

        def tell(closing):
            if closed.done():
                return  # It was cancelled.
            if closing.exception() is None:
                closed.set_result(None)
            else:
                closed.set_exception(closing.exception())

        # The library must have everything first: closed, it takes nothing more.
        self._submitted = self._loop.create_future()
        self._submitted.add_done_callback(finish)
        timer = self._loop.call_later(seconds, self._end_submission)
        self._submit()
        return closed

    def _end_submission(self):
        if self._submitted is not None and not self._submitted.done():
            self._submitted.set_result(None)
