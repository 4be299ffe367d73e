"""A WebSocket server that echoes, in the way that the path says; prints its port, and ends with its
standard input."""
import asyncio
import sys

import websockets


async def serve(socket, path):
    async for message in socket:
        if path == "/fragments":
            middle = len(message) // 2
            await socket.send([message[:middle], message[middle:]])
        elif path == "/ping":
            await (await socket.ping(b"are you there"))
            await socket.send(message)
        elif path == "/close":
            await socket.close(4001, "enough")
        elif path == "/cut":
            socket.transport.abort()
        else:
            await socket.send(message)


async def main():
    async with websockets.serve(
        serve, "127.0.0.1", 0, subprotocols=["news"], max_size=1 << 24, compression=None
    ) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
