import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile } from './file.ts'
import { webSearchOfFile } from './web-search-of-file.ts'

type Block = NonNullable<(typeof emptyFile)['value']['web_search']>

function read(block: Block | undefined) {
  const problems: string[] = []
  const file = { ...emptyFile, value: block ? { web_search: block } : {} }
  const settings = webSearchOfFile({ file, report: text => void problems.push(text) })
  return { settings, problems }
}

test('without the block there is no search provider', () => {
  assert.deepEqual(read(undefined), { settings: undefined, problems: [] })
})

test('each provider has its address, which api_base replaces', () => {
  assert.deepEqual(read({ provider: 'brave', api_key: 'k' }).settings, {
    provider: 'brave',
    apiKey: 'k',
    apiBase: 'https://api.search.brave.com',
  })
  assert.equal(read({ provider: 'tavily', api_key: 'k' }).settings?.apiBase, 'https://api.tavily.com')
  const own = { provider: 'searxng', api_base: 'http://10.0.0.5:8080/search/' }
  assert.deepEqual(read(own), {
    settings: { provider: 'searxng', apiKey: undefined, apiBase: 'http://10.0.0.5:8080/search' },
    problems: [],
  })
})

const faults: [guarantee: string, block: Block, problem: string][] = [
  ['a provider is required', { api_key: 'k' }, 'web_search.provider is required'],
  [
    'an unknown provider is rejected',
    { provider: 'brav', api_key: 'k' },
    'web_search.provider must be one of brave, tavily, searxng; did you mean brave?',
  ],
  [
    'a key is required where the provider needs it',
    { provider: 'tavily' },
    'web_search.api_key is required for tavily',
  ],
  [
    'a key without effect is rejected',
    { provider: 'searxng', api_key: 'k', api_base: 'https://s.example.com' },
    'web_search.api_key is not used by searxng; remove it',
  ],
  ['searxng needs an address', { provider: 'searxng' }, 'web_search.api_base is required for searxng'],
  [
    'the address must be one',
    { provider: 'brave', api_key: 'k', api_base: 'ftp://x' },
    'web_search.api_base must be an https:// or http:// address without a query',
  ],
]

for (const [guarantee, block, problem] of faults) {
  test(guarantee, () => {
    assert.deepEqual(read(block).problems, [problem])
  })
}
