import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialNameOf, gitAddressOf, refProblem } from './git-address.ts'

test('the address of a repository over HTTP', () => {
  assert.deepEqual(gitAddressOf('https://GitHub.com/acme/shop.git/'), {
    origin: 'https://github.com',
    host: 'github.com',
    path: '/acme/shop.git',
  })
  assert.deepEqual(gitAddressOf('http://127.0.0.1:3000/a/b/c'), {
    origin: 'http://127.0.0.1:3000',
    host: '127.0.0.1:3000',
    path: '/a/b/c',
  })
  assert.equal(credentialNameOf('github.com'), 'git.github.com')
  assert.equal(credentialNameOf('127.0.0.1:3000'), 'git.127.0.0.1_3000')
})

test('every other address is rejected with the reason', () => {
  for (const [url, reason] of [
    ['git@github.com:acme/shop.git', /not cloned over ssh/],
    ['ssh://git@github.com/acme/shop', /not cloned over ssh/],
    ['git://github.com/acme/shop', /not cloned over ssh, git or files/],
    ['file:///etc', /not cloned over ssh, git or files/],
    ['ext::sh -c id', /must be the URL/],
    ['/srv/repository', /must be the URL/],
    ['https://github.com', /must be the URL/],
    [
      'https://ada:token@github.com/acme/shop',
      /must not contain a user name or password; store .* as git\.github\.com/,
    ],
    ['https://github.com/acme/shop?x=1', /must not contain a query/],
    ['https://github.com/acme/%2e%2e/shop', /must be the URL/],
    ['https://github.com\\@evil.example/acme/shop', /must be the URL/],
    ["https://github.com/acme/shop';id", /must be the URL/],
    [5, /must be the URL/],
  ] as const)
    assert.match(String(gitAddressOf(url)), reason, String(url))
})

test('a ref is the name of a branch, tag or commit, never an option of git', () => {
  for (const good of ['main', 'v1.2.3', 'feature/a+b', 'a'.repeat(40), 'release-2026'])
    assert.equal(refProblem(good), undefined, good)
  for (const bad of [
    '',
    '-x',
    '--upload-pack=id',
    'a..b',
    'a b',
    'a:b',
    '@{1}',
    'a~1',
    'a^',
    'x.lock',
    'a/',
    'a\nb',
    '*',
    5,
  ])
    assert.match(refProblem(bad) ?? '', /must be the name/, String(bad))
})
