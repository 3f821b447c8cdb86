import { Worker } from 'node:worker_threads'
import { isRecord } from '../json.ts'
import type { SchemaTask } from './check.ts'

/** Checks the schemas that callers ask results for, and the results. */
export interface ResultSchemas {
  /** Why no result can be asked for with it, as a sentence goes on after the name of the field; undefined when one can. */
  schemaProblem(schema: unknown): Promise<string | undefined>
  /** Why a value does not fit a schema, as a sentence in which `it` is the value; undefined when it does. */
  mismatch(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<string | undefined>
}

interface Limits {
  /** For one check, the start of the thread not counted. */
  readonly checkMs: number
  /** A thread that has nothing to do for so long ends. */
  readonly idleMs: number
}

/** A schema goes into each request to the model. */
const maxBytes = 64 * 1024
const usual: Limits = { checkMs: 1_000, idleMs: 30_000 }
const tooLong = 'takes too long to check'

/**
 * One thread does all of it, one check after the other, and is created anew when a check takes too long or too much memory: patterns
 * and nested schemas of a caller can take any time.
 */
export function createResultSchemas({ checkMs, idleMs }: Limits = usual): ResultSchemas {
  let worker: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined

  function end(): void {
    const ended = worker
    worker = undefined
    // Whatever it still does is of no use to anybody.
    void ended?.terminate()
  }

  async function started(): Promise<Worker> {
    if (worker) return worker
    const created = new Worker(new URL('./worker.ts', import.meta.url), {
      // Schemas become code there: it gets no secrets of the service.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    worker = created
    created.once('exit', () => {
      if (worker === created) worker = undefined
    })
    await new Promise<void>((resolve, reject) => created.once('online', resolve).once('error', reject))
    return created
  }

  async function check(task: SchemaTask): Promise<string | undefined> {
    clearTimeout(idle)
    const at = await started()
    at.ref()
    const answer = Promise.withResolvers<string | undefined>()
    const timer = setTimeout(() => answer.resolve(tooLong), checkMs)
    at.once('message', answer.resolve)
    // Out of memory, for one.
    at.once('error', () => answer.resolve(tooLong))
    at.postMessage(task)
    try {
      const problem = await answer.promise
      if (problem === tooLong) end()
      return problem
    } finally {
      clearTimeout(timer)
      at.removeAllListeners('message').removeAllListeners('error')
      at.on('error', () => undefined)
      // One that rests keeps no process alive.
      at.unref()
      idle = setTimeout(end, idleMs).unref()
    }
  }

  /** In turn: a thread answers one task at a time. */
  function inTurn(task: SchemaTask): Promise<string | undefined> {
    const result = last.then(() => check(task))
    last = result.catch(() => undefined)
    return result
  }

  return {
    async schemaProblem(given) {
      const schema = isRecord(given) ? jsonOf(given) : undefined
      if (schema === undefined) return isRecord(given) ? tooDeep : 'must be a JSON Schema object'
      if (Buffer.byteLength(schema) > maxBytes) return `must have at most ${maxBytes} bytes`
      return inTurn({ schema })
    },
    async mismatch(schema, given) {
      const value = jsonOf(given)
      if (value === undefined) return `it ${tooDeep}`
      const problem = await inTurn({ schema: JSON.stringify(schema), value })
      return problem === tooLong ? `it ${tooLong}` : problem
    },
  }
}

const tooDeep = 'is nested too deeply'

/** Undefined for what nests too deep to be written. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
