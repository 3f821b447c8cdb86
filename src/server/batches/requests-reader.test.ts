import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { requestsIn } from './requests-reader.ts'

async function* inChunks(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string, { size = 7, maxBytes = 10_000 } = {}) {
  const others: string[] = []
  const requests: unknown[] = []
  const reading = { maxBytes, onOther: (name: string) => void others.push(name) }
  for await (const request of requestsIn(inChunks(text, size), reading)) requests.push(JSON.parse(request))
  return { requests, others }
}

test('requests of any content are read from chunks of any size', async () => {
  const request = fc.record({ custom_id: fc.string(), params: fc.dictionary(fc.string(), fc.jsonValue()) })
  const body = fc.record({ requests: fc.array(request, { minLength: 1, maxLength: 5 }), extra: fc.jsonValue() })
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 3 }),
      async (given, size, indent) => {
        const { requests, others } = await read(JSON.stringify(given, null, indent), { size })
        assert.deepEqual(requests, JSON.parse(JSON.stringify(given.requests)))
        assert.deepEqual(others, ['extra'])
      },
    ),
    { numRuns: 50 },
  )
})

const rejected: readonly (readonly [body: string, message: RegExp])[] = [
  ['', /expected a JSON object/],
  ['[]', /expected a JSON object/],
  ['not JSON', /expected a JSON object/],
  ['{}', /requests is required/],
  ['{"requests": {}}', /requests must be an array/],
  ['{"requests": [1]}', /requests\[0\] must be an object/],
  ['{"requests": [{"custom_id": "a"}, "b"]}', /requests\[1\] must be an object/],
  ['{"requests": [{"custom_id": "a"}', /a comma or the end of requests/],
  ['{"requests": [{"custom_id": "a', /the end of a value/],
  ['{"requests": [{}], "requests": [{}]}', /requests is given twice/],
  ['{"requests": [{}]} more', /nothing after the object/],
  ['{"requests": [{}] "model": 1}', /a comma or the end of the object/],
  ['{requests: []}', /the name of a member/],
  [`{"requests": [{"custom_id": "${'a'.repeat(3_000)}"}]}`, /requests\[0\] is larger than 2 KB/],
]

for (const [body, message] of rejected) {
  test(`rejected: ${body.slice(0, 50)}`, async () => {
    await assert.rejects(read(body, { maxBytes: 2_048 }), { code: 'invalid_request', message })
  })
}
