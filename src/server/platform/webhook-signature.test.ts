import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { newSecret, signatureHeaders } from './webhook-signature.ts'

const nowSeconds = () => Math.floor(Date.now() / 1_000)

test('the library of Standard Webhooks verifies what is signed, whatever the body holds', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const secret = newSecret()
      const body = JSON.stringify({ value })
      const headers = signatureHeaders({ id: 'evt_1', timestamp: nowSeconds(), body }, [secret])
      assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
    }),
  )
})

test('S28: while a secret is rotated, a receiver verifies with the old and with the new one', () => {
  const [old, fresh] = [newSecret(), newSecret()]
  const headers = signatureHeaders({ id: 'evt_1', timestamp: nowSeconds(), body: '{}' }, [fresh, old])
  for (const secret of [old, fresh]) new Webhook(secret).verify('{}', headers)
  assert.throws(() => new Webhook(newSecret()).verify('{}', headers))
})

test('S28: another body, id or time does not verify', () => {
  const secret = newSecret()
  const headers = signatureHeaders({ id: 'evt_1', timestamp: nowSeconds(), body: '{"a":1}' }, [secret])
  const hook = new Webhook(secret)
  assert.throws(() => hook.verify('{"a":2}', headers))
  assert.throws(() => hook.verify('{"a":1}', { ...headers, 'webhook-id': 'evt_2' }))
  assert.throws(() => hook.verify('{"a":1}', { ...headers, 'webhook-timestamp': String(nowSeconds() - 1) }))
})
