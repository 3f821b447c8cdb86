import { randomBytes } from 'node:crypto'
import { freePort } from '../../platform/free-port.ts'
import { connectorOf } from '../local/connector.ts'
import type { PooledProgram } from '../local/program-pool.ts'
import type { LocalProgram, LocalPrograms, ProgramRequest } from '../local/programs.ts'
import { cleanText, createConnection } from '../remote/connection.ts'
import { type RuntimeEndpoint, RuntimeFailure } from '../runtime.ts'
import { type OpencodeApi, opencodeApi, opencodeDialect } from './api.ts'
import { setupOf, type Task } from './settings.ts'

/** An opencode server of one session. */
export interface OpencodeServer extends PooledProgram {
  readonly api: OpencodeApi
  readonly program: Pick<LocalProgram, 'grant'>
  readonly task: Task
}

/** Port in the sandbox's own network; opencode's default. */
const portInside = 4096

/** Starts a server and waits until it listens. Rejects with `RuntimeFailure` after it has stopped the server. */
export async function startServer(
  programs: LocalPrograms,
  endpoint: RuntimeEndpoint,
  { sessionId, session, task }: Pick<ProgramRequest, 'sessionId' | 'session'> & { readonly task: Task },
): Promise<OpencodeServer> {
  const isolation = endpoint.isolation ?? 'sandbox'
  // If another program takes the free port first, opencode exits with an error.
  const port = isolation === 'sandbox' ? portInside : await freePort('127.0.0.1')
  const password = randomBytes(18).toString('base64url')
  const setup = (surroundings: LocalProgram['surroundings']) =>
    setupOf(endpoint, surroundings, { ...task, port, password })
  const program = await programs.start({ sessionId, session, isolation, port, setup })
  const within = { ...endpoint, apiBase: `http://127.0.0.1:${port}`, apiKey: password }
  const connection = createConnection(connectorOf(program), within, opencodeDialect)
  const stop = async () => {
    await connection.close()
    await program.stop()
  }
  try {
    // opencode accepts a connection as soon as the port opens, but never responds to it.
    await untilListening(program)
  } catch (error) {
    await stop()
    throw error
  }
  return { api: opencodeApi(connection), program, task, exited: program.exited, stop }
}

const startMs = 180_000
const maxOutputLength = 64 * 1024

function untilListening({ stdout, exited, errors }: LocalProgram): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new RuntimeFailure('model_request_failed_error', `opencode ${why}`))
    const timer = setTimeout(() => fail(`did not listen within ${startMs / 1000} s`), startMs)
    let output = ''
    // Output must be read until the end: a program blocks when its pipe is full.
    stdout.on('data', (chunk: Buffer) => {
      if (output.length < maxOutputLength) output += chunk.toString()
      if (!output.includes('listening on')) return
      clearTimeout(timer)
      resolve()
    })
    void exited.then(({ code }) => {
      clearTimeout(timer)
      fail(`exited before it listened (${code ?? 'a signal'}): ${cleanText(errors(), { apiKey: undefined })}`)
    })
  })
}
