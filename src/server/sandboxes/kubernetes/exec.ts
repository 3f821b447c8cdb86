import { jsonOr } from '../../platform/json.ts'
import type { KubernetesApi } from './api.ts'
import { type ExecStatus, execStatusOf } from './kubernetes-error.ts'
import { openWebSocket } from './websocket.ts'

/** Subprotocol of exec in which the client can close the standard input. */
const protocol = 'v5.channel.k8s.io'
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const
/** Larger inputs are split, so that a message stays below the limits of proxies. */
const maxInputBytes = 32 * 1024
const maxStatusBytes = 64 * 1024

export interface ExecCommand {
  readonly pod: string
  readonly namespace: string
  /** Program and arguments. They appear in the audit log of the cluster, so they must not contain secrets. */
  readonly command: readonly string[]
  readonly stdout?: (part: Buffer) => void
  readonly stderr?: (part: Buffer) => void
  /** Aborts the opening only. */
  readonly signal: AbortSignal
}

/** A command that runs in a container. */
export interface RunningExec {
  /** Writes to its standard input. */
  send(data: Buffer): Promise<void>
  closeInput(): void
  pause(): void
  resume(): void
  /** Resolves with the exit code, or with the reason why there is none; never rejects. */
  readonly ended: Promise<ExecStatus>
  /** Closes the connection; the command may keep running. */
  abandon(): void
}

export const containerName = 'sandbox'

/** Starts a command in a running pod. Rejects with `KubernetesError` when the command has not been started. */
export async function startExec(api: KubernetesApi, request: ExecCommand): Promise<RunningExec> {
  const { promise: ended, resolve } = Promise.withResolvers<ExecStatus>()
  let status = ''
  const receive = (message: Buffer) => {
    const data = message.subarray(1)
    switch (message[0]) {
      case channels.stdout:
        return data.length > 0 && request.stdout?.(data)
      case channels.stderr:
        return data.length > 0 && request.stderr?.(data)
      case channels.error:
        status = `${status}${data.toString('utf8')}`.slice(0, maxStatusBytes)
        // All output comes before the status.
        if (jsonOr(status, undefined) !== undefined) resolve(execStatusOf(status))
        return
    }
  }
  const closed = (reason: string) => resolve(status === '' ? { kind: 'lost', reason } : execStatusOf(status))
  const connection = await openWebSocket(
    api,
    { path: pathOf(request), protocol, signal: request.signal },
    { message: message => void receive(message), closed },
  )
  void ended.then(() => connection.close())
  return {
    async send(data) {
      for (let at = 0; at < data.length; at += maxInputBytes)
        await connection.send(Buffer.concat([Buffer.from([channels.stdin]), data.subarray(at, at + maxInputBytes)]))
    },
    closeInput: () => void connection.send(Buffer.from([channels.close, channels.stdin])),
    pause: () => connection.pause(),
    resume: () => connection.resume(),
    ended,
    abandon: () => connection.close(),
  }
}

function pathOf({ namespace, pod, command, stderr }: ExecCommand): string {
  const query = new URLSearchParams({ container: containerName, stdin: 'true', stdout: 'true' })
  if (stderr) query.set('stderr', 'true')
  for (const word of command) query.append('command', word)
  return `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`
}
