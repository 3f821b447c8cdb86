import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HostType, startHostFake } from '../../../../test/support/repositories/host-fakes.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { createPullRequests, PullRequestFailed } from './pull-requests.ts'

const token = 'token-0123456789'

for (const type of ['github', 'gitlab', 'gitea'] as const satisfies readonly HostType[]) {
  const fake = await startHostFake(type, token)
  const pullRequests = createPullRequests(() => createOutbound({ allow: [fake.host] }))
  const opening = (branch: string, given = token) => ({
    host: { host: 'git.example.com', type, apiBase: fake.url },
    token: given,
    draft: { repository: 'acme/shop', branch, base: 'main', title: 'Title', body: 'Body' },
  })

  test(`${type}: a pull request is opened once for a branch`, async () => {
    const [one, again] = [await pullRequests.open(opening('a')), await pullRequests.open(opening('a'))]
    assert.deepEqual(again, one)
    assert.match(one.url, /acme\/shop.*\/1$/)
    const other = await pullRequests.open(opening('b'))
    assert.equal(other.number, 2)
    const { isOpen: _isOpen, ...stored } = fake.pulls[0] ?? assert.fail('no pull request')
    assert.deepEqual(stored, { repository: 'acme/shop', branch: 'a', base: 'main', title: 'Title', body: 'Body' })
  })

  test(`${type}: a repetition after a lost response finds the first one`, async () => {
    fake.fates.push('lose')
    await assert.rejects(pullRequests.open(opening('lost')), /no response from the API of git\.example\.com/)
    const before = fake.pulls.length
    const found = await pullRequests.open(opening('lost'))
    assert.equal(found.number, before)
    assert.equal(fake.pulls.length, before)
  })

  test(`${type}: an error names the host and the cause, without the token`, async () => {
    fake.fates.push(403)
    const denied = await pullRequests.open(opening('denied')).catch((error: unknown) => error)
    assert.ok(denied instanceof PullRequestFailed)
    assert.match(denied.message, /acme\/shop \(HTTP 403\): Validation Failed; no; the token must be allowed/)
    const wrong = await pullRequests.open(opening('wrong', 'wrong-token-987654')).catch((error: unknown) => error)
    assert.ok(wrong instanceof PullRequestFailed)
    assert.match(wrong.message, /HTTP 401/)
    assert.doesNotMatch(wrong.message, /wrong-token-987654/)
    const closed = createPullRequests(() => createOutbound({ allow: [] }))
    await assert.rejects(closed.open(opening('x')), /outbound\.allow/)
  })
}
