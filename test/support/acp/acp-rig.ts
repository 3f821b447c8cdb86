import { mkdtemp, rm, symlink } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after } from 'node:test'
import type { Caller, GrantedServer } from '../../../src/server/http/caller.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { acpKind } from '../../../src/server/runtimes/acp/kind.ts'
import { createLocalPrograms } from '../../../src/server/runtimes/local/programs.ts'
import type { Runtime } from '../../../src/server/runtimes/runtime.ts'
import type { Isolation } from '../../../src/server/sandboxes/sandbox.ts'
import type { Sandboxes } from '../../../src/server/sandboxes/sandboxes.ts'
import { sandboxesForTests } from '../../../src/server/sandboxes/sandboxes-for-tests.ts'

export const fakeProgram = join(import.meta.dirname, 'acp-fake.ts')

interface Options {
  readonly isolation?: Isolation
  /** The script of the fake, in its variable FAKE. */
  readonly fake?: object
  readonly cancelMs?: number
  readonly idleMs?: number
  /** Answers what the program asks the gateway; 200 unless given. */
  readonly serve?: (request: IncomingMessage, response: ServerResponse, caller: Caller) => void
  readonly memories?: string
  /** MCP servers of the session's agent. */
  readonly mcpServers?: readonly GrantedServer[]
  readonly command?: readonly string[]
}

/** A runtime whose program is the fake. Without isolation unless asked for, since that starts faster. */
export async function acpRig(options: Options = {}) {
  const sandboxes = await sandboxesForTests(options.isolation === 'sandbox' ? 'bubblewrap' : 'virtual')
  const rig = acpRigOver(sandboxes, options)
  after(() => rig.runtime.close())
  return { ...rig, sandboxes }
}

/** The same over sandboxes of the caller's own, who has to close the runtime. */
export function acpRigOver(
  sandboxes: Sandboxes,
  { isolation = 'none', fake = {}, memories = '', mcpServers = [], ...options }: Options,
) {
  const log = createLog('silent')
  const serve = options.serve ?? ((_request, response) => void response.end('{}'))
  const programs = createLocalPrograms({ sandboxes, serve, log })
  const { cancelMs, idleMs, command = ['node', fakeProgram] } = options
  const kind = acpKind({
    programs,
    sandboxes,
    markSandboxRunning: async () => undefined,
    memories: { block: async () => memories },
    mcp: { granted: async () => ({ servers: mcpServers, warnings: [] }) },
    log,
    ...(cancelMs !== undefined && { cancelMs }),
    ...(idleMs !== undefined && { idleMs }),
  })
  const env = {
    FAKE: JSON.stringify(fake),
    NODE_OPTIONS: '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
  }
  const endpoint = { id: 'fake', apiBase: '', apiKey: undefined, command, env, isolation }
  return { kind, endpoint, runtime: kind.connect(endpoint) as Runtime & { close(): Promise<void> } }
}

/** A prompt that makes the fake do these steps. */
export const doing = (...steps: readonly object[]): string => JSON.stringify([steps])

/** The command of the fake under the name of a program, which decides how it is used. */
export async function fakeNamed(name: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-acp-'))
  after(() => rm(folder, { recursive: true }))
  await symlink(dirname(fakeProgram), join(folder, name))
  return ['node', join(folder, name, basename(fakeProgram))]
}
