import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { onLoopback } from '../../../../test/support/service/on-loopback.ts'
import type { Deployment } from '../../config/deployments.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { createCopyCleanup } from './copy-cleanup.ts'
import type { ProviderCopy } from './provider-file-store.ts'
import { credentialOf } from './provider-files-api.ts'

const deleted: string[] = []
const provider = await onLoopback(
  createServer(({ method, url, headers }, response) => {
    deleted.push(`${method} ${url} ${headers['anthropic-beta'] ?? ''}`.trim())
    response.writeHead(url?.endsWith('/broken') ? 500 : 200).end('{}')
  }),
)
after(() => provider.close())

const deployment = (more: Partial<Deployment>) =>
  ({ id: 'd', apiKey: 'sk-1', headers: {}, apiBase: provider.url, ...more }) as Deployment
const claude = deployment({ provider: 'anthropic', protocols: ['anthropic-messages'] })
const gpt = deployment({ provider: 'openai', protocols: ['openai-responses'], apiBase: `${provider.url}/v1` })

test('copies of deleted files are deleted at their provider, each once', async () => {
  const batches: ProviderCopy[][] = [
    [
      { credential: credentialOf(claude), provider_id: 'file_a' },
      { credential: credentialOf(gpt), provider_id: 'broken' },
      { credential: 'of a provider that was removed', provider_id: 'file_b' },
    ],
    [{ credential: credentialOf(gpt), provider_id: 'file-c/d' }],
  ]
  const warnings: string[] = []
  const cleanup = createCopyCleanup({
    store: { takeOrphans: async () => batches.shift() ?? [] },
    deployments: () => [claude, gpt],
    outbound: createOutbound({ allow: [provider.host] }),
    authorize: (_target, { headers }) => ({ ...headers }),
    log: {
      warn: (_fields: unknown, text?: string) => void warnings.push(String(text)),
      debug: (fields: unknown) => assert.fail(String((fields as { err?: unknown }).err)),
    },
  })
  await cleanup.sweep()
  assert.deepEqual(deleted, [
    'DELETE /v1/files/file_a files-api-2025-04-14',
    'DELETE /v1/files/broken',
    'DELETE /v1/files/file-c%2Fd',
  ])
  assert.deepEqual(warnings, ['could not delete the copy of a file at a provider'])
})
