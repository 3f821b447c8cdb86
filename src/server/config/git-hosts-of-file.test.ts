import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile, type GitHostEntry } from './file.ts'
import { gitHostsOfFile } from './git-hosts-of-file.ts'

function read(...entries: readonly GitHostEntry[]) {
  const problems: string[] = []
  const file = { ...emptyFile, value: { git_hosts: entries } }
  return { hosts: gitHostsOfFile({ file, report: text => void problems.push(text) }), problems }
}

test('a host has the API of its type, which api_base replaces', () => {
  const { hosts, problems } = read(
    { host: 'git.example.com', type: 'github' },
    { host: 'lab.example.com:8443', type: 'gitlab', credential: 'lab', auth: 'bearer' },
    { host: '127.0.0.1:3000', type: 'gitea', api_base: 'http://127.0.0.1:3000/api/v1/' },
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(
    hosts.map(({ apiBase, credential, auth }) => [apiBase, credential, auth]),
    [
      ['https://git.example.com/api/v3', undefined, undefined],
      ['https://lab.example.com:8443/api/v4', 'lab', 'bearer'],
      ['http://127.0.0.1:3000/api/v1', undefined, undefined],
    ],
  )
})

test('a wrong entry is reported by its field and left out', () => {
  const good = { host: 'git.example.com', type: 'gitea' }
  for (const [entry, problem] of [
    [{ type: 'gitea' }, /^git_hosts\[1\]\.host must be a host in lower case/],
    [{ host: 'https://x', type: 'gitea' }, /^git_hosts\[1\]\.host/],
    [{ host: 'x', type: 'gitae' }, /type must be one of github, gitlab, gitea; did you mean gitea\?/],
    [{ ...good, host: 'x', api_base: 'ftp://x' }, /api_base must be an https/],
    [{ ...good, host: 'x', credential: 'a b' }, /credential must be the name of a vault entry/],
    [{ ...good, host: 'x', auth: 'digest' }, /auth must be basic or bearer/],
    [good, /host git\.example\.com is used by an earlier entry/],
  ] as const) {
    const { problems } = read(good, entry)
    assert.equal(problems.length, 1, JSON.stringify(entry))
    assert.match(problems[0] ?? '', problem)
  }
})
