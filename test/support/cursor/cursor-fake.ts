import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { jsonOr, recordOf } from '../../../src/server/platform/json.ts'
import { onLoopback } from '../service/on-loopback.ts'
import { CursorAccount, type CursorCall, type CursorModel, type CursorScript, rejection } from './cursor-account.ts'
import type { FakeRun } from './cursor-runs.ts'

/** A fault that the next calls of that name meet. */
interface Fault {
  /** Method and path, with a star in place of each id. */
  readonly call: string
  /** Rejects with that status; or breaks the connection, before or after the call has had its effect. */
  readonly how: number | 'break-before' | 'break-after'
  readonly code: string
  times: number
}

interface Options {
  /** Outputs `Done.` by default. */
  readonly script?: CursorScript
  readonly key?: string
  readonly models?: readonly CursorModel[]
}

/** Seconds for which the fake promises to store streams. */
const retentionSeconds = 3600

const sayDone: CursorScript = () => [{ event: 'assistant', data: { text: 'Done.' } }, { end: { text: 'Done.' } }]

/** Starts a server of version 1 of Cursor's cloud agents API, whose agents play a script. Dialects: section 3. */
export async function startCursorFake({
  script = sayDone,
  key = 'cursor-key-of-the-tests',
  models = [{ id: 'composer-2.5', displayName: 'Composer 2.5', aliases: ['composer', 'demo'] }],
}: Options = {}) {
  const account = new CursorAccount(script, models)
  const calls: CursorCall[] = []
  const faults: Fault[] = []
  const permitted = [`Bearer ${key}`, `Basic ${Buffer.from(`${key}:`).toString('base64')}`]

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = callOf(request, await text(request))
    calls.push(call)
    const fault = faults.find(({ call: name, times }) => name === call.name && times > 0)
    if (fault) fault.times--
    if (fault?.how === 'break-before') return void response.destroy()
    if (typeof fault?.how === 'number') return send(response, rejection(fault.how, fault.code))
    const isPermitted = permitted.includes(call.headers.authorization ?? '')
    const answer = isPermitted ? account.answer(call) : rejection(401, 'unauthorized')
    if (fault?.how === 'break-after') return void response.destroy()
    send(response, answer)
  }

  const server = createServer((request, response) => void onRequest(request, response))
  const { host, url, close } = await onLoopback(server)

  return {
    host,
    url,
    key,
    account,
    /** All calls so far, in order. */
    calls,
    /** The runs of all agents that are there, in order. */
    get runs(): readonly FakeRun[] {
      return [...account.agents.values()].flatMap(({ runs }) => runs)
    },
    /** Calls of that name so far. */
    count: (name: string): number => calls.filter(call => call.name === name).length,
    fail(call: string, how: Fault['how'], { times = 1, code = 'unknown' }: { times?: number; code?: string } = {}) {
      faults.push({ call, how, times, code })
    },
    stop: close,
  }
}

function send(response: ServerResponse, answer: ReturnType<CursorAccount['answer']>): void {
  if ('follow' in answer) {
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-cursor-stream-retention-seconds': String(retentionSeconds),
    })
    answer.follow.follow(response, answer.place)
    return
  }
  const isRefused = 'code' in answer
  response.writeHead(isRefused ? answer.status : 200, { 'content-type': 'application/json' })
  const said = isRefused ? { error: { code: answer.code, message: `The fake says ${answer.code}` } } : answer.json
  response.end(JSON.stringify(said))
}

function callOf({ method, url = '/', headers }: IncomingMessage, body: string): CursorCall {
  const { pathname, searchParams: query } = new URL(url, 'http://fake')
  const ids: string[] = []
  const path = pathname.replaceAll(/(?<=\/(?:agents|runs)\/)[^/]+/g, id => {
    ids.push(decodeURIComponent(id))
    return '*'
  })
  return { name: `${method} ${path}`, ids, query, headers, body: recordOf(jsonOr(body, {})) }
}
