import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FilePart } from '../../../contract/prompt-files.ts'
import { programWorkspace } from '../../runtimes/runtime.ts'
import { sandboxesForTests } from '../../sandboxes/sandboxes-for-tests.ts'
import type { LeasedSession } from './leases.ts'
import { createPlacement } from './prompt-file-placement.ts'

const file: FilePart = {
  type: 'file',
  name: 'a b.txt',
  media_type: 'text/plain',
  size: 7,
  sha256: '0'.repeat(64),
  path: 'uploads/000000000000/a b.txt',
}
const parts = [{ type: 'text', text: 'Read it.' }, file] as const
const leased = {
  sessionId: 'ses_1',
  lost: new AbortController().signal,
  mayWrite: () => true,
} as unknown as LeasedSession

async function rig(workspace?: typeof programWorkspace) {
  const sandboxes = await sandboxesForTests('virtual')
  const { files } = await sandboxes.open('ses_1')
  let reads = 0
  let writes = 0
  /** Places as a new owner of the session does. */
  const place = () =>
    createPlacement(
      {
        promptFiles: {
          async read() {
            reads++
            return Buffer.from('content')
          },
        },
        filesOf: async () => files,
      },
      { leased, runtime: workspace ? { workspace } : {}, onWrite: () => writes++ },
    )
  return { files, place, counts: () => [reads, writes] }
}

test('files of prompts are written once, and those that exist stay', async () => {
  const { files, place, counts } = await rig(programWorkspace)
  const first = place()
  await first([{ parts }])
  await first([{ parts }, { parts: [file] }])
  assert.equal((await files.read(file.path)).toString(), 'content')
  assert.deepEqual(counts(), [1, 1])
  await files.write(file.path, 'changed by the agent')
  await place()([{ parts }])
  assert.equal((await files.read(file.path)).toString(), 'changed by the agent')
  assert.deepEqual(counts(), [1, 1])
})

test('a runtime without a workspace gets no files there', async () => {
  const { files, place, counts } = await rig()
  await place()([{ parts }])
  await assert.rejects(files.read(file.path), /does not exist/)
  assert.deepEqual(counts(), [0, 0])
})

test('a link in the place of the folder leads nowhere else', async () => {
  const { files, place } = await rig(programWorkspace)
  await files.write('uploads', 'a file of the agent')
  await assert.rejects(place()([{ parts }]), /uploads\/000000000000\/a b\.txt: a part of the path is not a folder/)
})
