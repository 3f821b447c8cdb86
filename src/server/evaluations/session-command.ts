import { invalid, notFound } from '../platform/errors.ts'
import type { RunSession, RuntimeRegistry } from '../runtimes/runtime.ts'
import { workspaceRoot } from '../sandboxes/sandbox.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import type { RunInSession } from './graders/command-grader.ts'

type Restored = Parameters<Workspaces['restore']>[0]

interface Deps<Row extends Restored> {
  /** Returns what a run of the session needs; undefined when it does not exist. */
  readonly rowOf: (sessionId: string) => Promise<(Row & { readonly runtime: string }) | undefined>
  readonly runSessionOf: (row: Row) => Promise<RunSession>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly workspaces: Pick<Workspaces, 'restore'>
  readonly sandboxes: Pick<Sandboxes, 'prepare' | 'open'>
}

/** Folder in the workspace with what the command reads. */
const folder = '.evaluation'

/** Returns a function that runs a command on the files that a session left: with its image and set-up, without its network. */
export function createRunInSession<Row extends Restored>(deps: Deps<Row>): RunInSession {
  return async ({ sessionId, command, timeoutMs, answer, signal }) => {
    const row = await deps.rowOf(sessionId)
    if (!row) throw notFound('session', sessionId)
    if (!(await deps.runtimes.find(row.runtime))?.workspace)
      throw invalid(`the files of runtime ${row.runtime} are not in a workspace of this service`)
    await deps.workspaces.restore(row)
    await deps.sandboxes.prepare(await deps.runSessionOf(row), signal)
    const sandbox = await deps.sandboxes.open(sessionId)
    await sandbox.files.write(`${folder}/answer.txt`, answer)
    try {
      const file = `${workspaceRoot}/${folder}/answer.txt`
      return await sandbox.exec({ command: `export ANSWER_FILE=${file}\n${command}`, timeoutMs, signal })
    } finally {
      await sandbox.exec({ command: `rm -rf ${workspaceRoot}/${folder}` })
    }
  }
}
