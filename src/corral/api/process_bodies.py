"""What is asked of the commands of agents."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from corral.api.requests import Body, Input
from corral.service.process_orders import DEFAULT_LIMIT, Wanted


class ExecBody(Body, frozen=True):
    """`POST /v1/exec`: a command, and how it is to be run. Either `command` or `argv` is needed."""

    command: Annotated[str | None, Meta(description="a command for bash")] = None
    argv: Annotated[list[str], Meta(description="a program and its arguments, without a shell")] = msgspec.field(
        default_factory=list
    )
    process_id: Annotated[
        str, Meta(description="an id of the caller's choice: a request that arrives twice starts one process")
    ] = ""
    timeout: Annotated[
        float | None,
        Meta(
            description="seconds until the answer comes, if the command has not ended before; it goes on. null: never"
        ),
    ] = None
    background: Annotated[bool, Meta(description="answer at once")] = False
    tty: Annotated[bool, Meta(description="give it a terminal")] = False
    columns: int = 120
    rows: int = 40
    workdir: Annotated[str, Meta(description="absolute, or relative to the agent's workspace")] = ""
    env: Annotated[dict[str, str], Meta(description="variables besides those of the agent")] = msgspec.field(
        default_factory=dict
    )
    stdin: Annotated[bool, Meta(description="keep its standard input open, to be written to")] = False
    input: Annotated[str | Input | None, Meta(description="its whole standard input, at most 16 MiB")] = None
    limit: Annotated[int, Meta(description="most bytes of output in the answer, up to 16 MiB")] = DEFAULT_LIMIT

    def wanted(self) -> Wanted:
        """What the use case is asked for."""
        given = self.input
        return Wanted(
            command=self.command,
            argv=self.argv,
            process=self.process_id,
            timeout=self.timeout,
            background=self.background,
            tty=self.tty,
            columns=self.columns,
            rows=self.rows,
            workdir=self.workdir,
            environment=self.env,
            stdin=self.stdin,
            input=given.base64 if isinstance(given, Input) else None if given is None else given.encode(),
            limit=self.limit,
        )
