import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compiled } from '../compiled.ts'
import { startCommand } from '../program.ts'

/** What the upstream answers to POST requests of one path. */
export interface Answer {
  /** Without a query. */
  readonly path: string
  /** A JSON body, or an event stream. */
  readonly body: string | Buffer
  /** The pause between two events of a stream; 0 writes them one by one without a pause. Absent for a JSON body. */
  readonly pauseMs?: number
  /** The only event, counted from 0, that comes after the pause. Absent when every event does. */
  readonly pausedEvent?: number
}

/** What the upstream has written so far. */
export interface Counts {
  /** Whole answers. */
  readonly answers: number
  /** Events of streams. */
  readonly events: number
}

/** A model provider with canned answers that costs next to no CPU. */
export interface Upstream {
  readonly origin: string
  counts(): Promise<Counts>
  stop(): Promise<void>
}

const source = join(import.meta.dirname, 'upstream.c')

/** Compiles the upstream in `folder` and starts it. */
export async function startUpstream(folder: string, answers: readonly Answer[]): Promise<Upstream> {
  await mkdir(folder, { recursive: true })
  const program = compiled(source, folder)
  const triples = answers.map(async ({ path, body, pauseMs = 'whole', pausedEvent }, at) => {
    const file = join(folder, `answer-${at}`)
    await writeFile(file, body)
    return [path, file, pausedEvent === undefined ? `${pauseMs}` : `${pauseMs}@${pausedEvent}`]
  })
  const { answer, stop } = await startCommand<{ origin: string }>(program, (await Promise.all(triples)).flat())
  const { origin } = answer
  return { origin, counts: async () => (await (await fetch(`${origin}/counts`)).json()) as Counts, stop }
}
