import assert from 'node:assert/strict'
import { addressOf } from '../../../src/client/request.ts'
import type { allRoutes } from '../../../src/contract/api.ts'
import { examples } from '../../../src/contract/examples/all.ts'
import { type Example, filled } from '../../../src/contract/examples/example.ts'
import { type Route, successStatus } from '../../../src/contract/route.ts'
import { open } from '../service/send.ts'
import type { Service } from '../service/service.ts'
import { exampleObjects } from './example-objects.ts'
import { asRecorded } from './recorded-response.ts'

export type Operation = (typeof allRoutes)[number]

export const exampleOf = ({ id }: Pick<Route, 'id'>): Example => examples[id] ?? {}

interface ExampleResponse {
  /** JSON of the response; undefined for a stream, bytes and a response without a body. */
  readonly body: unknown
  /** The same as the API reference shows it. */
  readonly recorded: unknown
}

/** Sends the example of an operation, with fresh objects for its placeholders. Fails unless the status is that of the contract. */
export async function runExample(service: Service, operation: Operation): Promise<ExampleResponse> {
  const { query, body, params } = exampleOf(operation)
  const ofPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([placeholder, name = '']) => [name, placeholder])
  const parts = { params: { ...Object.fromEntries(ofPath), ...params }, query, body }
  const objects = exampleObjects(service)
  for (const name of placeholdersOf(parts)) await objects.idOf(name)
  const ids = await objects.ids()
  const sent = filled(parts, name => ids.get(name) ?? '') as typeof parts
  const line = `${operation.method} ${addressOf(operation, sent)}`
  const response = await open(service, line, contentOf(operation, sent.body))
  assert.equal(response.statusCode, successStatus(operation), line)
  if (operation.produces !== undefined && !operation.produces.endsWith('json')) {
    response.destroy()
    return { body: undefined, recorded: undefined }
  }
  const text = Buffer.concat(await response.toArray()).toString()
  if (text === '') return { body: undefined, recorded: undefined }
  const answered: unknown = JSON.parse(text)
  return { body: answered, recorded: asRecorded(answered, ids, service) }
}

function placeholdersOf(parts: unknown): readonly string[] {
  const names = new Set<string>()
  filled(parts, name => {
    names.add(name)
    return ''
  })
  return [...names]
}

const contentOf = ({ consumes }: Operation, body: unknown) =>
  consumes === 'application/octet-stream' ? { body: 'hello\n', headers: { 'content-type': consumes } } : { body }
