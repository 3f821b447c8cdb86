import type { IncomingHttpHeaders } from 'node:http'
import { createContractChecker } from '../../support/contract/checker.ts'
import { scan } from '../../support/secrets/canaries.ts'
import { open } from '../../support/service/send.ts'
import type { ServedDocument } from './operations.ts'
import type { FuzzRequest } from './requests.ts'
import type { FuzzWorld } from './world.ts'

/** What is wrong with an answer. */
export interface Finding {
  readonly operation: string
  readonly problem: string
  /** The request, as it was sent. */
  readonly request: string
}

/** The longest that a whole answer may take, on the slowest machine. */
const answerMs = 90_000
/** How long a stream is read, which may have no end. */
const streamMs = 150

/** Server errors that are documented: a server of somebody else, which the request names, does not exist here. */
const upstreamErrors: readonly (readonly [operation: RegExp, status: number, text: RegExp])[] = [
  [/^mcp\.(call|test|tools|accept|authorize)$/, 502, /MCP server \S+ is unreachable \(\w+\)/],
  [/^(agent_runtimes\.models|models\.list)$/, 502, /the connection to the runtime failed \(\w+\)/],
]

const isOfUpstream = (operation: string, status: number, text: string): boolean =>
  upstreamErrors.some(([pattern, code, message]) => pattern.test(operation) && status === code && message.test(text))

/** True for what the HTTP parser rejects before there is a path: it has the first shape of the introduction. */
const isBeforePath = ({ status, body }: Answer): boolean =>
  (status === 431 || status === 400) &&
  /^\{"error":\{"type":"gateway_error","message":"(request headers exceed 16 KB|invalid HTTP request)"\}\}$/.test(
    body.toString(),
  )

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly isCut: boolean
}

/** Returns a function that sends a request of an operation and returns what is wrong with the answer. */
export function createExaminer(world: FuzzWorld, { document }: ServedDocument, onStatus: (status: number) => void) {
  const check = createContractChecker(document)

  function problemsOf(id: string, { caller, method, url }: FuzzRequest, answer: Answer): readonly string[] {
    const { status, headers, body, isCut } = answer
    const text = body.toString()
    const violations =
      method === 'HEAD' || isBeforePath(answer) ? [] : check({ method, url, status, headers, body, isCut })
    const hidden = caller === 'admin' ? world.secrets : [...world.secrets, ...world.foreignTexts]
    const { findings } = scan([['answer', JSON.stringify(headers) + text]], hidden)
    return [
      ...(status >= 500 && !isOfUpstream(id, status, text) ? [`status ${status}: ${text.slice(0, 300)}`] : []),
      ...violations.map(({ operation, problem }) => `${operation} ${status}: ${problem}`),
      ...findings.map(({ canary, as }) => `the answer contains the ${canary} (${as})`),
    ]
  }

  return async (operation: string, request: FuzzRequest): Promise<readonly Finding[]> => {
    const { caller, method, headers } = request
    const url = await world.fill(request.url, caller)
    const body = request.body && (await filledBody(request.body, text => world.fill(text, caller)))
    const shown = shownRequest({ ...request, url, body })
    const answer = await answerOf(() =>
      open(world.targetOf(caller), `${method} ${url}`, { headers, ...(body && { body }) }),
    )
    if (typeof answer !== 'string') onStatus(answer.status)
    const problems = typeof answer === 'string' ? [answer] : problemsOf(operation, { ...request, url }, answer)
    return problems.map(problem => ({ operation, problem, request: shown }))
  }
}

/** Placeholders of a body stand in texts of their own. Bytes that are not UTF-8 stay as they are. */
async function filledBody(body: Buffer, fill: (text: string) => Promise<string>): Promise<Buffer> {
  const text = body.toString('latin1')
  return text.includes('{') ? Buffer.from(await filledTexts(text, fill), 'latin1') : body
}

async function filledTexts(text: string, fill: (text: string) => Promise<string>): Promise<string> {
  const parts = text.split(/(?<=")(\{\w+\})(?=")/)
  const filled = await Promise.all(parts.map((part, at) => (at % 2 === 1 ? fill(part) : part)))
  return filled.join('')
}

/** The whole answer, the head and first bytes of a stream, or what is wrong with it. */
async function answerOf(send: () => ReturnType<typeof open>): Promise<Answer | string> {
  const timeout = Promise.withResolvers<string>()
  const timer = setTimeout(() => timeout.resolve(`no answer within ${answerMs} ms`), answerMs)
  try {
    return await Promise.race([received(send), timeout.promise])
  } catch (error) {
    return `the connection ended without an answer: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    clearTimeout(timer)
  }
}

async function received(send: () => ReturnType<typeof open>): Promise<Answer> {
  const response = await send()
  const { statusCode: status = 0, headers } = response
  const isStream = String(headers['content-type']).startsWith('text/event-stream')
  const chunks: Buffer[] = []
  let isCut = false
  const cut = setTimeout(
    () => {
      isCut = true
      response.destroy()
    },
    isStream ? streamMs : answerMs,
  )
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer)
  } catch (error) {
    if (!isCut) throw error
  } finally {
    clearTimeout(cut)
  }
  const body = Buffer.concat(chunks)
  // The last frame of a stream that was cut is not whole.
  const whole = isCut ? body.subarray(0, body.lastIndexOf('\n\n') + 2) : body
  return { status, headers, body: whole, isCut }
}

function shownRequest({ caller, method, url, headers, body }: FuzzRequest): string {
  const shownHeaders = Object.entries(headers).map(([name, value]) => ` ${name}: ${JSON.stringify(value.slice(0, 80))}`)
  const shownBody = body === undefined ? '' : ` ${JSON.stringify(body.toString().slice(0, 600))}`
  return `${caller}: ${method} ${url.slice(0, 300)}${shownHeaders.join('')}${shownBody}`
}
