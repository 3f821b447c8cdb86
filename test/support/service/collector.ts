import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after } from 'node:test'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string; readonly boolValue?: boolean }
}

interface FakeSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly links?: readonly { readonly traceId: string; readonly spanId: string; readonly traceState?: string }[]
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
}

interface FakeRecord {
  readonly body: { readonly stringValue: string }
  readonly traceId?: string
  readonly attributes: readonly Attribute[]
}

interface Received {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly FakeSpan[] }[] }[]
  readonly resourceLogs?: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly FakeRecord[] }[] }[]
}

/** Starts an OpenTelemetry collector that stores what it gets; it stops after the last test of the file. */
export async function startCollector() {
  const spans: FakeSpan[] = []
  const records: FakeRecord[] = []
  const keys = new Set<unknown>()
  let status = 200
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Received
    keys.add(request.headers['authorization'])
    if (status === 200) {
      const received = (body.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
      if (request.url === '/v1/traces') spans.push(...received)
      if (request.url === '/v1/logs')
        records.push(
          ...(body.resourceLogs ?? []).flatMap(({ scopeLogs }) => scopeLogs.flatMap(scope => scope.logRecords)),
        )
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    records,
    keys,
    answer(given: number) {
      status = given
    },
  }
}

/** Returns the value of an attribute; undefined without it. */
export const attribute = (of: FakeSpan | FakeRecord | undefined, key: string) => {
  const value = of?.attributes.find(found => found.key === key)?.value
  return value?.stringValue ?? value?.intValue ?? value?.boolValue
}
