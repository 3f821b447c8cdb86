import { Worker } from 'node:worker_threads'
import { isRecord } from '../json.ts'
import { type CheckTask, noMatch } from './check-task.ts'

/** Validation of result schemas of callers, and of results. */
export interface ResultSchemas {
  /** Returns the problem of a schema, to follow the field name in a message; undefined if it is valid. */
  schemaProblem(schema: unknown): Promise<string | undefined>
  /** Returns why a value does not match a schema, as a message that calls the value `it`; undefined if it matches. */
  mismatch(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<string | undefined>
  /** Searches a valid regular expression (flag `u`) in a text. Returns undefined when that takes too long. */
  isMatch(pattern: string, text: string): Promise<boolean | undefined>
}

interface Limits {
  /** Timeout of one check, without the start of the thread. */
  readonly checkMs: number
  /** Idle time after which the thread is terminated. */
  readonly idleMs: number
}

/** Limited because each request to the model contains the schema. */
const maxBytes = 64 * 1024
const defaultLimits: Limits = { checkMs: 1_000, idleMs: 30_000 }
const tooLong = 'takes too long to check'

/**
 * Runs all checks sequentially in one thread. Restarts the thread if a check takes too long or too much memory, because
 * patterns and nested schemas of callers can take unlimited time.
 */
export function createResultSchemas({ checkMs, idleMs }: Limits = defaultLimits): ResultSchemas {
  let worker: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined

  function end(): void {
    const ended = worker
    worker = undefined
    // Its result is no longer needed.
    void ended?.terminate()
  }

  async function started(): Promise<Worker> {
    if (worker) return worker
    const created = new Worker(new URL('./worker.ts', import.meta.url), {
      // Schemas are compiled to code in the thread, so it gets no secrets of the service.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    worker = created
    created.once('exit', () => {
      if (worker === created) worker = undefined
    })
    await new Promise<void>((resolve, reject) => created.once('message', () => resolve()).once('error', reject))
    return created
  }

  async function check(task: CheckTask): Promise<string | undefined> {
    clearTimeout(idle)
    const at = await started()
    at.ref()
    const answer = Promise.withResolvers<string | undefined>()
    const timer = setTimeout(() => answer.resolve(tooLong), checkMs)
    at.once('message', answer.resolve)
    // For example out of memory.
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
      // An idle thread must not keep the process alive.
      at.unref()
      idle = setTimeout(end, idleMs).unref()
    }
  }

  /** In turn: a thread answers one task at a time. */
  function inTurn(task: CheckTask): Promise<string | undefined> {
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
    async isMatch(pattern, text) {
      const problem = await inTurn({ pattern, text })
      if (problem !== undefined && problem !== noMatch) return undefined
      return problem === undefined
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
