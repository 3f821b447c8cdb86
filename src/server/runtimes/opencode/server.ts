import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { connectorOf } from '../local/connector.ts'
import type { Keepable } from '../local/kept-programs.ts'
import type { LocalProgram, LocalPrograms } from '../local/programs.ts'
import { cleanText, createConnection } from '../remote/connection.ts'
import { type RuntimeEndpoint, RuntimeFailure } from '../runtime.ts'
import { type OpencodeApi, opencodeApi, opencodeDialect } from './api.ts'
import { setupOf, type Task } from './settings.ts'

/** A server that was started for one session. */
export interface OpencodeServer extends Keepable {
  readonly api: OpencodeApi
  readonly program: Pick<LocalProgram, 'lend'>
  readonly task: Task
}

/** In the sandbox's own network; the one that opencode takes by itself. */
const portInside = 4096

/** Starts a server and waits until it answers. Rejects with `RuntimeFailure`, and then nothing of it is left. */
export async function startServer(
  programs: LocalPrograms,
  endpoint: RuntimeEndpoint,
  { sessionId, task }: { readonly sessionId: string; readonly task: Task },
): Promise<OpencodeServer> {
  const isolation = endpoint.isolation ?? 'sandbox'
  const port = isolation === 'sandbox' ? portInside : await freePort()
  const password = randomBytes(18).toString('base64url')
  const setup = (surroundings: LocalProgram['surroundings']) =>
    setupOf(endpoint, surroundings, { ...task, port, password })
  const program = await programs.start({ sessionId, isolation, port, setup })
  const within = { ...endpoint, apiBase: `http://127.0.0.1:${port}`, apiKey: password }
  const connection = createConnection(connectorOf(program), within, opencodeDialect)
  const stop = async () => {
    await connection.close()
    await program.stop()
  }
  try {
    // Who connects as soon as the port opens is accepted and never answered.
    await untilListening(program)
  } catch (error) {
    await stop()
    throw error
  }
  return { api: opencodeApi(connection), program, task, exited: program.exited, stop }
}

const startMs = 60_000
const maxWords = 64 * 1024

function untilListening({ stdout, exited, errors }: LocalProgram): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new RuntimeFailure('model_request_failed_error', `opencode ${why}`))
    const timer = setTimeout(() => fail(`did not listen within ${startMs / 1000} s`), startMs)
    let said = ''
    // It is read on for ever: a program whose output nobody takes stands still.
    stdout.on('data', (chunk: Buffer) => {
      if (said.length < maxWords) said += chunk.toString()
      if (!said.includes('listening on')) return
      clearTimeout(timer)
      resolve()
    })
    void exited.then(({ code }) => {
      clearTimeout(timer)
      fail(`ended before it listened (${code ?? 'a signal'}): ${cleanText(errors(), { apiKey: undefined })}`)
    })
  })
}

/** Somebody else may take it before the program does, which then ends and says so. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
