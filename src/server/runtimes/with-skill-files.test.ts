import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptOf, runRig, sessionWith } from '../../../test/support/sessions/run-rig.ts'
import { invalid } from '../platform/errors.ts'
import { type ContextRequest, idle, noCapabilities, programWorkspace, type RunPrompt, type Runtime } from './runtime.ts'
import { type SkillFiles, skillsFolder, withSkillFiles } from './with-skill-files.ts'

const session = sessionWith({ system: 'Be kind.' })
const note = `Paths in your skills are relative to their folders in the workspace:
- ${skillsFolder}/terse: SKILL.md, a.py`

/** A runtime that keeps the system prompts of its runs. */
function createInner() {
  const seen: (string | null)[] = []
  const runtime: Runtime = {
    id: 'inner',
    capabilities: noCapabilities,
    workspace: programWorkspace,
    async contextOf({ system }, { prompt }) {
      seen.push(prompt.system ?? system)
      return { parts: [], tools: [], contextWindow: undefined, conversation: null, notes: [] }
    },
    async *run({ system }, prompt) {
      seen.push(prompt.system ?? system)
      yield [idle({ type: 'end_turn' })]
    },
    dispose: async () => undefined,
  }
  return { seen, runtime }
}

/** Folders of skills, and a workspace. */
function createSkills(folders: Readonly<Record<string, Readonly<Record<string, string>>>>, inside: string[] = []) {
  const written = new Map<string, string>()
  const read: string[] = []
  const foldersOf = async (): Promise<readonly SkillFiles[]> =>
    Object.entries(folders).map(([name, files]) => ({
      name,
      paths: Object.keys(files),
      async read(paths) {
        read.push(...paths)
        return paths.map(path => ({ path, content: Buffer.from(files[path] ?? '') }))
      },
    }))
  const filesOf = async () => ({
    list: async () => ({ paths: inside, complete: true }),
    async write(path: string, content: string | Buffer) {
      written.set(path, String(content))
      return 'created' as const
    },
  })
  return { written, read, deps: { foldersOf, filesOf } }
}

test('a run finds the files of its skills in the workspace, and the system prompt says where', async () => {
  const { seen, runtime } = createInner()
  const { written, deps } = createSkills({ terse: { 'SKILL.md': 'Be terse.', 'a.py': 'print(1)' } })
  const rig = runRig(session)
  await rig.run(withSkillFiles(runtime, deps), promptOf('go'))
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.deepEqual(Object.fromEntries(written), {
    [`${skillsFolder}/terse/SKILL.md`]: 'Be terse.',
    [`${skillsFolder}/terse/a.py`]: 'print(1)',
  })
  assert.deepEqual(seen, [`Be kind.\n\n${note}`])
})

test('files that are there stay as they are; a prompt of its own and the description of a request have the note too', async () => {
  const { seen, runtime } = createInner()
  const { read, deps } = createSkills({ terse: { 'SKILL.md': 'Be terse.', 'a.py': '1' } }, ['terse/a.py'])
  const decorated = withSkillFiles(runtime, deps)
  await runRig(session).run(decorated, promptOf('go', { system: 'Be quick.' }))
  assert.deepEqual(read, ['SKILL.md'])
  const prompt: Pick<RunPrompt, 'model' | 'system' | 'output_schema'> = promptOf('go')
  const request: ContextRequest = { prompt, memories: '', payer: undefined, agents: undefined, fold: undefined }
  await decorated.contextOf?.(session, request)
  assert.deepEqual(seen, [`Be quick.\n\n${note}`, `Be kind.\n\n${note}`])
})

test('a compaction writes no files, and a runtime without a workspace stays as it is', async () => {
  const { seen, runtime } = createInner()
  const { read, deps } = createSkills({ terse: { 'SKILL.md': '', 'a.py': '' } })
  await runRig(session).run(withSkillFiles(runtime, deps), promptOf('', { kind: 'compact' }))
  assert.deepEqual([read, seen], [[], [`Be kind.\n\n${note}`]])
  const { workspace: _, ...remote } = runtime
  assert.equal(withSkillFiles<Runtime>(remote, deps).run, remote.run)
})

test('a run whose files cannot be written ends with an error', async () => {
  const { runtime } = createInner()
  const { deps } = createSkills({ terse: { 'SKILL.md': '' } })
  const write = () => Promise.reject(invalid('the disk is full'))
  const filesOf = async () => ({ ...(await deps.filesOf()), write })
  const rig = runRig(session)
  await rig.run(withSkillFiles(runtime, { ...deps, filesOf }), promptOf('go'))
  assert.match(JSON.stringify(rig.log.at(-1)), /cannot write the files of skills: the disk is full/)
})
