"""The official Python SDK's client against the editing server:

    python hashfile_client.py DIRECTORY SERVER [ARGUMENT...]

with a python in which the SDK is installed. DIRECTORY is what the server's --root allows. In each protocol version that
the SDK speaks every tool of the server is called. Prints "N versions ok".
"""
import asyncio, os, pathlib, re, sys

from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
import mcp.client.session as sessions

directory, (command, *arguments) = pathlib.Path(sys.argv[1]), sys.argv[2:]
server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))


def text(result):
    assert not result.is_error, result
    return result.content[0].text


def header(answer):
    """The file_hash in an answer's first line."""
    return re.match(r"\[file_hash=(\S+) total_lines=\d+", answer).group(1)


def anchor(answer, line):
    return re.search(r"^(\d+:[0-9a-f]+)\|" + re.escape(line) + "$", answer, re.M).group(1)


async def drive(client):
    """Calls every tool, and looks at what it did."""
    listed = {tool.name for tool in (await client.list_tools()).tools}
    called = set()

    async def call(tool, **arguments):
        called.add(tool)
        return await client.call_tool(tool, arguments)

    base = directory / "python"
    name = lambda *parts: str(base.joinpath(*parts))
    assert "allowed" in (await client.call_tool("read_text_file", {"path": "/etc/passwd"})).content[0].text
    text(await call("create_directory", path=name("sub")))
    made = text(await call("write_text_file", path=name("sub", "f"), content="one\ntwo\n"))
    assert (base / "sub" / "f").read_bytes() == b"one\ntwo\n"
    got = text(await call("read_text_file", path=name("sub", "f")))
    assert header(got) == header(made), (got, made)
    edited = text(await call("edit_text_file", path=name("sub", "f"), file_hash=header(got),
                             operations=[{"op": "replace", "anchor": anchor(got, "two"), "content": "zwei"}]))
    assert (base / "sub" / "f").read_bytes() == b"one\nzwei\n"
    stale = await call("edit_text_file", path=name("sub", "f"), file_hash=header(got),
                       operations=[{"op": "delete", "anchor": anchor(got, "one")}])
    assert stale.is_error and stale.structured_content["code"] == "stale", stale
    text(await call("write_text_file", path=name("sub", "f"), file_hash=header(edited), content="drei\n"))
    assert "|drei" in text(await call("read_multiple_files", paths=[name("sub", "f"), name("none")]))
    assert "|drei" in text(await call("search_files", path=str(base), pattern="^d.*i$"))
    text(await call("move_file", source=name("sub", "f"), destination=name("g")))
    assert "[FILE] g" in text(await call("list_directory", path=str(base)))
    assert "sub/" in text(await call("list_directory", path=str(base), recursive=True))
    text(await call("list_directory", path=name("g")))
    assert str(directory) in text(await call("list_directory"))
    assert called == listed, f"not called: {listed - called}, not listed: {called - listed}"
    (base / "g").unlink()
    (base / "sub").rmdir()
    base.rmdir()


async def main():
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        sessions.LATEST_HANDSHAKE_VERSION = version  # which the SDK offers
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            assert (await session.initialize()).protocol_version == version
            await drive(session)
    for version in MODERN_PROTOCOL_VERSIONS:
        async with Client(stdio_client(server), mode=version) as client:
            await drive(client)
    print(len(HANDSHAKE_PROTOCOL_VERSIONS) + len(MODERN_PROTOCOL_VERSIONS), "versions ok")


asyncio.run(main())
