import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'
import { type Attribute, type ReceivedSpan, spansOfRequest } from './otlp-spans.ts'

interface FakeRecord {
  readonly body: { readonly stringValue: string }
  readonly traceId?: string
  readonly attributes: readonly Attribute[]
}

interface ReceivedLogs {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly FakeRecord[] }[] }[]
}

const recordsOf = ({ resourceLogs }: ReceivedLogs): readonly FakeRecord[] =>
  resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))

/** Starts an OpenTelemetry collector that stores what it gets; it stops after the last test of the file. */
export async function startCollector() {
  const spans: ReceivedSpan[] = []
  const records: FakeRecord[] = []
  const keys = new Set<unknown>()
  let status = 200
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    keys.add(request.headers['authorization'])
    if (status === 200 && request.url === '/v1/traces') {
      assert.equal(request.headers['content-type'], 'application/x-protobuf')
      spans.push(...spansOfRequest(body).spans)
    }
    if (status === 200 && request.url === '/v1/logs')
      records.push(...recordsOf(JSON.parse(body.toString()) as ReceivedLogs))
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
export const attribute = (of: ReceivedSpan | FakeRecord | undefined, key: string) => {
  const value = of?.attributes.find(found => found.key === key)?.value
  return value?.stringValue ?? value?.intValue ?? value?.boolValue
}
