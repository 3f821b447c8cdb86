import { setImmediate as turnOfLoop } from 'node:timers/promises'

/** A tool call of a scripted turn. */
export interface FakeTool {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** What it gives back; `ok` unless given. */
  readonly output?: string
  /** It fails with these words. */
  readonly error?: string
  /** Kinds of permission that are asked for first, one after the other. */
  readonly permissions?: readonly string[]
  /** Asks with the event of older servers. */
  readonly older?: boolean
  /** Asks for a session that works for this one. */
  readonly child?: boolean
}

/** One step of a scripted turn: one assistant message. */
export interface FakeStep {
  readonly thinking?: string
  /** In pieces, as they are streamed. */
  readonly text?: readonly string[]
  readonly tools?: readonly FakeTool[]
  /** Asks the user something, and waits. */
  readonly question?: boolean
  /** The model call failed and is tried again. */
  readonly retry?: string
  /** The turn ends with this error, as `name` and `data`. */
  readonly error?: { readonly name: string; readonly data: Readonly<Record<string, unknown>> }
  /** Only an event reports the error, without an assistant message. */
  readonly errorOnly?: boolean
  /** Waits here for `release()`. */
  readonly hold?: 'before' | 'in tool' | 'in text'
  readonly cost?: number
  /** Calls the model that it was set up with; the turn ends when that is rejected. */
  readonly callsModel?: boolean
}

export interface FakeSession {
  readonly id: string
  readonly messages: { readonly info: Record<string, unknown>; readonly parts: Record<string, unknown>[] }[]
  busy: boolean
  stop: AbortController
}

/** What a turn needs of its server. */
export interface FakeStage {
  readonly newId: (prefix: string) => string
  readonly send: (type: string, properties: object) => void
  /** Waits for `release()`; rejects when the turn is stopped. */
  readonly paused: (signal: AbortSignal) => Promise<void>
  /** Asks and waits; the reply, and its message. */
  readonly permission: (asked: Record<string, unknown>, older: boolean) => Promise<{ reply: string; message?: string }>
  readonly question: (asked: Record<string, unknown>) => Promise<void>
  /** The status of a call of the model. */
  readonly callModel: () => Promise<number>
}

class Rejected extends Error {}

const tokens = { total: 46, input: 30, output: 10, reasoning: 2, cache: { read: 3, write: 1 } }

/** Plays a turn in the order of events of a real server. */
export async function playTurn(stage: FakeStage, session: FakeSession, steps: readonly FakeStep[]): Promise<void> {
  const { signal } = session.stop
  const status = (type: string, more: object = {}) =>
    stage.send('session.status', { sessionID: session.id, status: { type, ...more } })
  const asked = session.messages.at(-1)?.info['id']
  session.busy = true
  status('busy')
  try {
    for (const [at, step] of steps.entries()) {
      if (step.hold === 'before') await stage.paused(signal)
      if (step.retry !== undefined) status('retry', { attempt: 1, message: step.retry, next: 1 })
      if (step.error && step.errorOnly) {
        stage.send('session.error', { sessionID: session.id, error: step.error })
        break
      }
      const isLast = at === steps.length - 1
      if (!(await playStep(stage, session, { step, isLast, asked }))) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
    if (signal.reason === 'crash') return
  }
  session.busy = false
  status('idle')
  stage.send('session.idle', { sessionID: session.id })
}

async function playStep(
  stage: FakeStage,
  session: FakeSession,
  { step, isLast, asked }: { step: FakeStep; isLast: boolean; asked: unknown },
): Promise<boolean> {
  const { signal } = session.stop
  const info: Record<string, unknown> = {
    id: stage.newId('msg'),
    sessionID: session.id,
    role: 'assistant',
    parentID: asked,
    time: { created: 1 },
    cost: 0,
  }
  const message = { info, parts: [] as Record<string, unknown>[] }
  session.messages.push(message)
  const notify = () => stage.send('message.updated', { sessionID: session.id, info: structuredClone(info) })
  const part = (fields: Record<string, unknown>) => {
    const id = fields['id'] ?? stage.newId('prt')
    const whole: Record<string, unknown> = { id, sessionID: session.id, messageID: info['id'], ...fields }
    const known = message.parts.findIndex(other => other['id'] === id)
    if (known < 0) message.parts.push(whole)
    else message.parts[known] = whole
    stage.send('message.part.updated', { sessionID: session.id, part: structuredClone(whole), time: 1 })
    return whole
  }
  const end = (fields: object) => {
    Object.assign(info, fields, { time: { created: 1, completed: 2 } })
    notify()
  }
  notify()
  part({ type: 'step-start' })
  try {
    const refused = step.callsModel ? refusalOf(await stage.callModel()) : step.error
    signal.throwIfAborted()
    if (refused) {
      stage.send('session.error', { sessionID: session.id, error: refused })
      end({ error: refused })
      return false
    }
    await speak(stage, { session, step, part, messageID: info['id'] })
    for (const [at, tool] of (step.tools ?? []).entries()) {
      await useTool(stage, { session, step, tool, part, callID: `call_${info['id']}_${at}`, messageID: info['id'] })
    }
    if (step.question) {
      await stage.question({ sessionID: session.id, questions: [{ question: 'Which?', header: 'W', options: [] }] })
      throw new Rejected()
    }
  } catch (error) {
    if (error instanceof Rejected) {
      end({ finish: 'tool-calls' })
      return false
    }
    if (signal.aborted && signal.reason !== 'crash') {
      const aborted = { name: 'MessageAbortedError', data: { message: 'Aborted' } }
      stage.send('session.error', { sessionID: session.id, error: aborted })
      end({ error: aborted })
    }
    throw error
  }
  const cost = step.cost ?? 0
  part({ type: 'step-finish', reason: isLast ? 'stop' : 'tool-calls', tokens, cost })
  end({ finish: isLast ? 'stop' : 'tool-calls', tokens, cost })
  return true
}

const refusalOf = (statusCode: number): FakeStep['error'] =>
  statusCode < 400 ? undefined : { name: 'APIError', data: { message: 'refused', statusCode, isRetryable: false } }

type Part = (fields: Record<string, unknown>) => Record<string, unknown>

async function speak(
  stage: FakeStage,
  { session, step, part, messageID }: { session: FakeSession; step: FakeStep; part: Part; messageID: unknown },
): Promise<void> {
  const written = [
    ['reasoning', step.thinking === undefined ? [] : [step.thinking]],
    ['text', step.text ?? []],
  ] as const
  for (const [type, pieces] of written) {
    if (pieces.length === 0) continue
    const { id } = part({ type, text: '', time: { start: 1 } })
    for (const [at, delta] of pieces.entries()) {
      if (at > 0 && type === 'text' && step.hold === 'in text') await stage.paused(session.stop.signal)
      stage.send('message.part.delta', { sessionID: session.id, messageID, partID: id, field: 'text', delta })
      await turnOfLoop()
    }
    part({ id, type, text: pieces.join(''), time: { start: 1, end: 2 } })
  }
}

interface Use {
  readonly session: FakeSession
  readonly step: FakeStep
  readonly tool: FakeTool
  readonly part: Part
  readonly callID: string
  readonly messageID: unknown
}

async function useTool(stage: FakeStage, use: Use): Promise<void> {
  const { session, step, tool, part, callID } = use
  const { input } = tool
  const call = { type: 'tool', tool: tool.name, callID }
  const { id } = part({ ...call, state: { status: 'pending', input: {}, raw: '' } })
  part({ id, ...call, state: { status: 'running', input, time: { start: 1 } } })
  const time = { start: 1, end: 2 }
  const fail = (error: string) => part({ id, ...call, state: { status: 'error', input, error, time } })
  if (tool.child) {
    const child = `${session.id}_child`
    stage.send('session.created', { sessionID: child, info: { id: child, parentID: session.id } })
  }
  for (const permission of tool.permissions ?? []) {
    const asking = stage.permission(questionOf(use, permission), tool.older ?? false)
    const { reply, message } = await Promise.race([asking, rejection(session.stop.signal)])
    if (reply !== 'reject') continue
    fail(`The user rejected permission to use this specific tool call: ${message ?? ''}`)
    if (message === undefined) throw new Rejected()
    return
  }
  if (step.hold === 'in tool') await stage.paused(session.stop.signal)
  await turnOfLoop()
  if (tool.error !== undefined) return void fail(tool.error)
  const output = tool.output ?? 'ok'
  part({ id, ...call, state: { status: 'completed', input, output, title: '', metadata: {}, time } })
}

function questionOf({ session, tool, callID, messageID }: Use, permission: string): Record<string, unknown> {
  if (tool.older)
    return { type: permission, pattern: '*', sessionID: session.id, messageID, callID, title: 'May I?', metadata: {} }
  return {
    permission,
    patterns: ['*'],
    sessionID: tool.child ? `${session.id}_child` : session.id,
    metadata: {},
    always: [],
    tool: { messageID, callID: tool.child ? 'call_of_child' : callID },
  }
}

/** Rejects once the turn is stopped. */
export const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = () => reject(new Error('stopped'))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
