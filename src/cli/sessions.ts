import type { Client } from '../client/client.ts'
import { readEvents } from '../client/event-reader.ts'
import type { SessionStatus } from '../contract/session-status.ts'
import { sessionRoutes } from '../contract/sessions.ts'
import type { ListArguments } from './agents.ts'
import { outcomePiece, type RunEnd, runEndOf } from './event-lines.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { exitCodeOfRun, followRun, noteState } from './follow.ts'
import { agoText } from './format.ts'
import { dim, type Out, plain } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'
import { createTranscript } from './transcript.ts'

interface ListSessionsArguments extends ListArguments {
  readonly status?: SessionStatus | undefined
  /** Substring of the title, or the id. */
  readonly text?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly nowMs: number
}

/** `sessions ls`: lists sessions, newest first. */
export async function listSessions(client: Client, args: ListSessionsArguments, out: Out): Promise<ExitCode> {
  const { limit, status, cursor, text: q, metadata, nowMs } = args
  const isFiltered = q !== undefined || metadata !== undefined
  const query = {
    limit,
    ...(status && { status }),
    ...(cursor !== undefined && { cursor }),
    ...(q !== undefined && { q }),
    ...(metadata && { metadata }),
  }
  const { data, nextCursor } = await client.page(sessionRoutes.list, { query })
  out.data({ data, next_cursor: nextCursor ?? null })
  if (data.length === 0) {
    if (isFiltered) out.line('No session matches.')
    else out.line(status ? `No session has status ${status}.` : 'No sessions yet. Start one: switchyard run "<prompt>"')
    return exitCodes.ok
  }
  const rows = data.map(session => [
    session.id,
    session.status,
    agoText(nowMs - session.time.updated),
    plainLine(session.title, 80),
  ])
  printTable(out, ['ID', 'STATUS', 'UPDATED', 'TITLE'], rows)
  if (nextCursor !== undefined) out.note(dim(`More: --cursor ${nextCursor}`))
  return exitCodes.ok
}

interface TailArguments {
  readonly sessionId: string
  /** `start`, or the sequence number after which to start; the last events when absent. */
  readonly from?: 'start' | number | undefined
  readonly stop: AbortSignal
}

const lastEvents = 10

/** `sessions tail`: prints the events of a session and follows it until it is deleted or `stop` aborts. */
export async function tailSession(
  client: Client,
  { sessionId, from, stop }: TailArguments,
  out: Out,
): Promise<ExitCode> {
  const after = from === 'start' ? 0 : (from ?? Math.max(0, (await lastSeq(client, sessionId)) - lastEvents))
  const transcript = createTranscript(out)
  const reading = readEvents({
    client,
    sessionId,
    after,
    signal: stop,
    eventDeltas: out.isLive,
    onState: state => noteState(out, state),
  })
  for await (const read of reading) transcript.show(read)
  transcript.close()
  return exitCodes.ok
}

interface SendArguments {
  readonly sessionId: string
  readonly text: string
  /** Absent: the model of the session's agent. */
  readonly model?: string | undefined
  readonly follow: boolean
  readonly stop: AbortSignal
}

/** `sessions send`: queues a prompt; with `follow` it prints the run until it ends. */
export async function sendPrompt(client: Client, args: SendArguments, out: Out): Promise<ExitCode> {
  const { sessionId, follow, stop } = args
  const { after, prompt } =
    args.model === undefined ? await sendMessage(client, args) : await sendWithModel(client, args)
  if (!follow) {
    out.data({ session_id: sessionId, queued: true })
    out.line({ text: '✓ ', tone: 'good' }, plain('queued'), dim(`  (follow it: switchyard sessions tail ${sessionId})`))
    return exitCodes.ok
  }
  const paused = await pauseOf(client, sessionId)
  const end = paused ?? (await followRun(client, { sessionId, after, prompt, stop }, out))
  out.line(outcomePiece(end.outcome), plain(end.text))
  return exitCodeOfRun(end)
}

/** Returns the end of the session's last run if a budget paused it: then prompts after it wait as well. */
async function pauseOf(client: Client, sessionId: string): Promise<RunEnd | undefined> {
  const query = { order: 'desc', limit: 1, types: 'session.status_idle,session.status_running' } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query })
  const end = data[0]?.type === 'session.status_idle' ? runEndOf(data[0]) : undefined
  return end?.outcome === 'budget' ? { ...end, text: `queued after a paused prompt; ${end.text}` } : undefined
}

/** Without a model the service chooses one, and returns the id of the prompt. */
async function sendMessage(client: Client, { sessionId, text }: SendArguments) {
  const content = [{ type: 'text' as const, text }]
  const body = { events: [{ type: 'user.message' as const, content }] }
  const { data } = await client.events.send({ params: { session_id: sessionId }, body })
  const event = data.find(({ type }) => type === 'user.message') as { seq: number; prompt_id?: string } | undefined
  const prompt = event?.prompt_id === undefined ? undefined : { id: event.prompt_id }
  return { after: event?.seq ?? 0, prompt }
}

async function sendWithModel(client: Client, { sessionId, text, model = '' }: SendArguments) {
  const after = await lastSeq(client, sessionId)
  const body = { model: { modelID: model }, parts: [{ type: 'text' as const, text }] }
  await client.sessions.promptAsync({ params: { session_id: sessionId }, body })
  return { after, prompt: { text } }
}

/** `sessions stop`: stops the running prompt; queued prompts continue. */
export async function stopSession(
  client: Client,
  { sessionId }: { readonly sessionId: string },
  out: Out,
): Promise<ExitCode> {
  await client.sessions.interrupt({ params: { session_id: sessionId } })
  out.data({ session_id: sessionId, stop_requested: true })
  out.line({ text: '■ ', tone: 'warning' }, plain('requested the interrupt; queued prompts continue'))
  return exitCodes.ok
}

/** `sessions compact`: queues the compaction of a conversation. */
export async function compactSession(
  client: Client,
  { sessionId }: { readonly sessionId: string },
  out: Out,
): Promise<ExitCode> {
  const { prompt_id } = await client.sessions.compact({ params: { session_id: sessionId } })
  out.data({ session_id: sessionId, prompt_id })
  out.line({ text: '✓ ', tone: 'good' }, plain('queued; later prompts continue from the summary'))
  return exitCodes.ok
}

/** Returns the sequence number of the last event; 0 for an empty log. */
async function lastSeq(client: Client, sessionId: string): Promise<number> {
  const query = { order: 'desc', limit: 1 } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query })
  return data[0]?.seq ?? 0
}
