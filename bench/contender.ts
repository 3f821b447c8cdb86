import { setTimeout as sleep } from 'node:timers/promises'
import { type LoadResult, type ModelLoad, sendModelLoad } from './model-load.ts'
import { cpuTimeUs, residentMib } from './process-figures.ts'
import { startProgram } from './program.ts'
import { startServer } from './server.ts'

/** Something between a client and a model provider. */
export interface Contender {
  readonly origin: string
  readonly key: string
  readonly pid: number
  stop(): Promise<void>
}

/** The bare pass-through, in a fresh process. */
export async function startBareProxy(upstream: string): Promise<Contender> {
  const { pid, answer, stop } = await startProgram<{ origin: string }>(import.meta.resolve('./bare-proxy.ts'), {
    upstream,
  })
  return { origin: answer.origin, key: 'none', pid, stop }
}

/** The service with all that it does for a call: key, checks, routing, booking. */
export async function startGateway(upstream: string, dataDir: string): Promise<Contender> {
  const config = JSON.stringify({
    model_list: [
      { model_name: 'bench/*', params: { model: 'anthropic/*', api_base: upstream, api_key: 'sk-upstream-0123' } },
    ],
    outbound: { allow: [new URL(upstream).host] },
  })
  const { url, key, pid, stop } = await startServer({ dataDir, config })
  return { origin: url, key, pid, stop }
}

export interface Measured extends LoadResult {
  /** Of all threads of the contender, the booking of the calls included. */
  readonly cpuUs: number
  readonly residentMib: number
}

/** The booking of calls is written at most this much later. */
const bookingMs = 1_200

/** Sends the load and tells what it cost the contender. */
export async function measure(
  { origin, key, pid }: Contender,
  load: Omit<ModelLoad, 'origin' | 'key'>,
): Promise<Measured> {
  const before = cpuTimeUs(pid)
  const result = await sendModelLoad({ ...load, origin, key })
  await sleep(bookingMs)
  return { ...result, cpuUs: cpuTimeUs(pid) - before, residentMib: residentMib(pid) }
}
