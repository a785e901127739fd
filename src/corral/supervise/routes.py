"""Which of several keepers a verb goes to, for a team whose agents are run by several OS users.

Every verb of `ports.keeper.Keeper` has a rule here, or has to be asked of a keeper that is meant (`NOT_OF_A_TEAM`).
"""

from __future__ import annotations

#: To the keeper that has the agent which the argument names: by its name, its run, its workspace, or inside an order.
BY_AGENT = dict.fromkeys(
    """copy_environment end_process forget_agent forget_processes guard_workspace look_for_conversation
    prepare_workspace read_log read_process read_recording recordings remove_workspace resize_process signal_process
    wait_process write_process""".split(),
    "agent",
)
BY_RUN = dict.fromkeys(
    """attach_command look_at_dialog press screen session_attend session_leave session_read session_resize
    session_steer session_type typing_begin typing_enter typing_paste typing_proof typing_recall""".split(),
    "run",
)
BY_PATH = {
    **dict.fromkeys(("fork_point", "register_hooks", "register_server"), "path"),
    **dict.fromkeys(("merge_look", "real_paths", "symbolic_links"), "directory"),
}
BY_ORDER = dict.fromkeys("check execute follow_transcript watch_ready".split(), "order")
#: What is about the repository, the merge queue or the host goes to the keeper of the team's own user.
TO_THE_OWNER = frozenset(
    """file_history hello host_ports look_at_files merge_build merge_checkout merge_clear merge_land repository
    run_notice start_gate wait_gate""".split()
)
#: What is about the whole team goes to all of them, and the answers are put together (`several`).
TO_ALL = frozenset(
    """announce bystanders census freeze host_memory inspect_workspaces inventory keep_environments last_key limit
    listening over prepare processes record sessions start stop take_down usage""".split()
)
#: A repository and the copies of it are each of one user.
OF_ONE_USER = frozenset(
    """drop_pack follow hand_in make_copy read_pack receive_pack refs send_pack settle_branch watch_branches
    write_pack""".split()
)
NOT_OF_A_TEAM = OF_ONE_USER | frozenset("no_person open_changes shelter_daemon shut_down".split())
