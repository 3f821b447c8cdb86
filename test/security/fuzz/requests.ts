import fc from 'fast-check'
import { bare, hostileSegment, hostileText } from './hostile-values.ts'
import { jsonOf, mutated } from './json-mutations.ts'
import type { FuzzedOperation, Parameter, Schema } from './operations.ts'
import { createSchemaValues } from './schema-values.ts'

/** A generated request. Names in braces stand for ids of objects. */
export interface FuzzRequest {
  readonly caller: CallerName
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

export type CallerName = 'admin' | 'limited admin' | 'user' | 'stranger' | 'webhook'

const caller = fc.constantFrom<CallerName[]>('admin', 'admin', 'admin', 'limited admin', 'user', 'user', 'stranger')

const webhookCaller = fc.constantFrom<CallerName[]>('webhook', 'webhook', 'webhook', 'admin', 'stranger')

const otherHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.constantFrom(
        'accept',
        'idempotency-key',
        'anthropic-version',
        'anthropic-beta',
        'a2a-version',
        'mcp-session-id',
        'mcp-protocol-version',
        'last-event-id',
        'if-none-match',
        'if-modified-since',
        'range',
        'origin',
        'cookie',
        'traceparent',
        'x-forwarded-for',
        'x-goog-api-key',
        'x-opencode-directory',
        'x-switchyard-cache',
        'x-switchyard-tags',
      ),
      fc
        .oneof(fc.constantFrom('1', '1.0', '*/*', 'bytes=0-5', 'text/event-stream', '2023-06-01'), hostileText)
        .map(asHeader),
      { maxKeys: 2 },
    ),
  },
)

/** Headers carry the bytes of Latin-1 without control characters; others would not leave the client. */
function asHeader(text: string): string {
  return Buffer.from(text.slice(0, 6_000), 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
}

const otherMethods = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND')
const otherTypes = fc.constantFrom(
  'text/plain',
  'application/json; charset=utf-16',
  'application/jsonx',
  'application/problem+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'APPLICATION/JSON;',
  '\tapplication/json',
  'nonsense',
  '',
)

/** Returns a function that generates requests of an operation: some valid, most with something wrong. */
export function createFuzzRequests(schemas: Readonly<Record<string, Schema>>) {
  const valuesOf = createSchemaValues(schemas)

  return (operation: FuzzedOperation): fc.Arbitrary<FuzzRequest> => {
    const { method, consumes } = operation
    return fc
      .record({
        caller: operation.id === 'webhooks.receive' ? webhookCaller : caller,
        method: fc.oneof({ weight: 19, arbitrary: fc.constant(method) }, { weight: 1, arbitrary: otherMethods }),
        url: fc.tuple(pathOf(operation), queryOf(operation)).map(parts => parts.join('')),
        type: fc.oneof({ weight: 14, arbitrary: fc.constant(typeOf(consumes)) }, { weight: 1, arbitrary: otherTypes }),
        encoding: fc.oneof(
          { weight: 30, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: fc.constantFrom('gzip', 'br', 'x').map(value => ({ 'content-encoding': value })) },
        ),
        headers: otherHeaders,
        body: bodyOf(operation),
      })
      .map(({ type, encoding, headers, body, ...request }) => {
        const ofBody = body === undefined ? {} : { ...(type !== '' && { 'content-type': type }), ...encoding }
        return { ...request, headers: { ...headers, ...ofBody }, body }
      })
  }

  function queryOf({ parameters, example }: FuzzedOperation): fc.Arbitrary<string> {
    const known = parameters.filter(parameter => parameter.in === 'query')
    const pairs = known.map(parameter => pairOf(parameter, example.query?.[parameter.name]))
    const unknown = fc.tuple(fc.constantFrom('no_such_name', 'a[b]', '__proto__', 'limit[]', ''), hostileText)
    return fc
      .tuple(
        fc.tuple(...pairs),
        fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: unknown }),
      )
      .map(([chosen, extra]) => {
        const all = [...chosen.flat(), ...(extra ? [extra] : [])]
        const text = all.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&')
        // Most longer request lines are rejected before their path is read.
        return text === '' ? '' : `?${text.length > 20_000 ? text.slice(0, 5_000) : text}`
      })
  }

  function pairOf({ name, required, schema }: Parameter, shown: unknown): fc.Arbitrary<(readonly [string, string])[]> {
    const valid = valuesOf(schema, name).map(textOfQuery)
    const values = fc.oneof(
      { weight: 3, arbitrary: shown === undefined ? valid : fc.constant(String(shown)) },
      { weight: 2, arbitrary: valid },
      { weight: 2, arbitrary: hostileText },
    )
    const one = values.map(value => [[name, value] as const])
    const twice = fc.tuple(values, values).map(both => both.map(value => [name, value] as const))
    const none = fc.constant<(readonly [string, string])[]>([])
    return fc.oneof(
      { weight: required ? 8 : 3, arbitrary: one },
      { weight: 1, arbitrary: twice },
      { weight: required ? 1 : 6, arbitrary: none },
    )
  }

  function bodyOf({ consumes, body, example }: FuzzedOperation): fc.Arbitrary<Buffer | undefined> {
    const none = fc.constant(undefined)
    if (consumes === undefined)
      return fc.oneof({ weight: 9, arbitrary: none }, { weight: 1, arbitrary: fc.constant(Buffer.from('{"a":1}')) })
    if (consumes === 'application/octet-stream') return fc.uint8Array({ maxLength: 2_000 }).map(Buffer.from)
    const generated = valuesOf(body ?? {})
    const base =
      example.body === undefined
        ? generated
        : fc.oneof(
            { weight: 1, arbitrary: generated },
            { weight: 1, arbitrary: fc.constant(example.body) },
            { weight: 1, arbitrary: generated.map(more => withMembersOf(example.body, more)) },
          )
    const values = fc.oneof({ weight: 1, arbitrary: base }, { weight: 4, arbitrary: mutated(base) })
    const write = writers[consumes] ?? jsonOf
    const written = values.map(value => Buffer.from(write(value)))
    return fc.oneof(
      { weight: 20, arbitrary: written },
      { weight: 1, arbitrary: fc.tuple(written, fc.nat(1_000)).map(([bytes, at]) => bytes.subarray(0, at)) },
      { weight: 1, arbitrary: fc.tuple(written, fc.nat(1_000)).map(withInvalidUtf8) },
      { weight: 1, arbitrary: none },
    )
  }
}

const boundary = 'switchyard-fuzz'
const typeOf = (consumes = 'application/json'): string =>
  consumes === 'multipart/form-data' ? `${consumes}; boundary=${boundary}` : consumes

/** Bodies that are not JSON. */
const writers: Readonly<Record<string, (value: unknown) => string>> = {
  'multipart/form-data': value => {
    const part = (name: string, text: string, extra = '') =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${extra}\r\n\r\n${text}\r\n`
    const fields = Object.entries(isObject(value) ? value : { file: value })
    const parts = fields.map(([name, of]) => part(name, textOfQuery(of), name === 'file' ? '; filename="a.wav"' : ''))
    return `${parts.join('')}--${boundary}--\r\n`
  },
  'application/x-www-form-urlencoded': value =>
    Object.entries(isObject(value) ? value : {})
      .map(([name, of]) => `${escaped(name)}=${escaped(textOfQuery(of))}`)
      .join('&'),
}

/** A body that most checks let through, with further members. */
const withMembersOf = (body: unknown, more: unknown): unknown =>
  isObject(body) && !Array.isArray(body) && isObject(more) ? { ...more, ...body } : body

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function withInvalidUtf8([bytes, at]: readonly [Buffer, number]): Buffer {
  const place = bytes.length === 0 ? 0 : at % bytes.length
  return Buffer.concat([bytes.subarray(0, place), Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0]), bytes.subarray(place)])
}

const textOfQuery = (value: unknown): string =>
  typeof value === 'string' ? value.replace(bare, '') : (JSON.stringify(value) ?? '')

/** Placeholders stay, to be filled in before the request is sent. */
function escaped(text: string): string {
  if (/^\{\w+\}$/.test(text)) return text
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

/** The segments of a path, mostly with ids of objects. */
function pathOf({ id, path, example }: FuzzedOperation): fc.Arbitrary<string> {
  const parts = path.split(/(\{\w+\})/)
  const segments = parts.map(part => {
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? []
    if (name === undefined) return fc.constant(part)
    const known = id === 'webhooks.receive' ? '{hooked_agent_id}' : (example.params?.[name] ?? part)
    return fc.oneof(
      { weight: 14, arbitrary: fc.constant(known) },
      { weight: 2, arbitrary: fc.constant(foreign[known] ?? 'nothing_1') },
      { weight: 4, arbitrary: hostileSegment },
    )
  })
  return fc.tuple(...segments).map(chosen => chosen.join(''))
}

/** Objects of another owner, in the place of own ones. */
const foreign: Readonly<Record<string, string>> = {
  '{agent_id}': '{foreign_agent_id}',
  '{session_id}': '{foreign_session_id}',
  '{careful_session_id}': '{foreign_session_id}',
  '{thread_id}': '{foreign_session_id}',
  '{memory_id}': '{foreign_memory_id}',
  '{skill_id}': '{foreign_skill_id}',
}
