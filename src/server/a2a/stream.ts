import type { ServerResponse } from 'node:http'
import type { A2aStreamResponse } from '../../contract/a2a-objects.ts'
import { sseFrame } from '../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { TaskStream } from './operations.ts'

interface Options {
  readonly requestId: string
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  readonly turns: WriteTurns
  /** Builds the payload of a frame. */
  readonly wrap: (frame: A2aStreamResponse) => object
}

/** Writes the frames of a task as server-sent events, each after the reader has taken the one before. */
export async function writeTaskStream(
  response: ServerResponse,
  { frames, close }: TaskStream,
  { requestId, signal, turns, wrap }: Options,
): Promise<void> {
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  const writer = new FrameWriter(response, signal, { turns })
  const heartbeat = setInterval(() => writer.offer(': keep-alive\n\n'), heartbeatMs)
  try {
    for await (const frame of frames) {
      if (!(await writer.write(sseFrame({ data: JSON.stringify(wrap(frame)) })))) return
    }
  } finally {
    clearInterval(heartbeat)
    close()
    writer.end()
  }
}
