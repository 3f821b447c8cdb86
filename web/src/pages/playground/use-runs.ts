import { useCallback, useEffect, useRef, useState } from 'react'
import type { Fields } from '../../data/json.ts'
import { reportError } from '../../data/queries.ts'
import { type Answer, emptyAnswer } from './wire/answer.ts'
import { type CallHeaders, callModel } from './wire/call-model.ts'
import type { Format } from './wire/form.ts'

/** The last call of a column. */
export interface Run {
  readonly model: string
  readonly format: Format
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** Milliseconds until the first content, as this page saw it. */
  readonly firstMs: number | undefined
  readonly totalMs: number | undefined
  readonly headers: CallHeaders | undefined
  readonly answer: Answer
  readonly error: unknown
}

interface Started {
  readonly column: number
  readonly model: string
  readonly format: Format
  readonly body: Fields
}

/** Calls of the columns, by their numbers. */
export interface Runs {
  readonly all: Readonly<Record<number, Run>>
  readonly isRunning: boolean
  readonly start: (calls: readonly Started[]) => void
  /** Stops one column, or all. */
  readonly stop: (column?: number) => void
  /** Removes the answer of a column; those after it move up. Only while none is running. */
  readonly remove: (column: number) => void
  readonly clear: () => void
}

/** Runs calls at the same time. A running one changes the page at most once a frame. */
export function useRuns(): Runs {
  const [all, setAll] = useState<Readonly<Record<number, Run>>>({})
  const live = useRef(new Map<number, AbortController>())

  const stop = useCallback((column?: number) => {
    for (const [each, controller] of live.current) if (column === undefined || each === column) controller.abort()
  }, [])
  useEffect(() => () => stop(), [stop])

  const start = useCallback((calls: readonly Started[]) => {
    for (const call of calls) {
      live.current.get(call.column)?.abort()
      const controller = new AbortController()
      live.current.set(call.column, controller)
      const show = (run: Run) => {
        // Another call may have taken the place since.
        if (live.current.get(call.column) === controller) setAll(before => ({ ...before, [call.column]: run }))
      }
      void follow(call, controller.signal, show)
    }
  }, [])

  const clear = useCallback(() => {
    stop()
    live.current.clear()
    setAll({})
  }, [stop])

  const remove = useCallback((column: number) => {
    setAll(before => {
      const others = Object.entries(before).map(([at, run]) => [Number(at), run] as const)
      return Object.fromEntries(
        others.filter(([at]) => at !== column).map(([at, run]) => [at > column ? at - 1 : at, run]),
      )
    })
  }, [])

  const isRunning = Object.values(all).some(({ state }) => state === 'running')
  return { all, isRunning, start, stop, remove, clear }
}

/** Runs one call, and shows it once a frame until it has ended. */
async function follow({ model, format, body }: Started, signal: AbortSignal, show: (run: Run) => void): Promise<void> {
  const startedMs = performance.now()
  let run: Run = {
    model,
    format,
    state: 'running',
    startedAt: Date.now(),
    firstMs: undefined,
    totalMs: undefined,
    headers: undefined,
    answer: emptyAnswer,
    error: undefined,
  }
  let frame: number | undefined
  const paint = () => {
    frame = undefined
    show(run)
  }
  const change = (changes: Partial<Run>) => {
    run = { ...run, ...changes }
    frame ??= requestAnimationFrame(paint)
  }
  show(run)
  try {
    await callModel({
      format,
      body,
      signal,
      onHeaders: headers => change({ headers }),
      onAnswer: answer => {
        const isFirst = run.firstMs === undefined && answer.blocks.length > 0
        change({ answer, ...(isFirst && { firstMs: performance.now() - startedMs }) })
      },
    })
    change({ state: 'done' })
  } catch (error) {
    if (signal.aborted) change({ state: 'stopped' })
    else {
      reportError(error)
      change({ state: 'failed', error })
    }
  }
  if (frame !== undefined) cancelAnimationFrame(frame)
  // A hidden page gets no frames.
  show({ ...run, totalMs: performance.now() - startedMs })
}
