import { namedList } from '../platform/named-list.ts'
import type { WorkspaceFiles } from '../sandboxes/sandbox.ts'
import { messageOf, usesWorkspace } from './before-run.ts'
import { type Batch, failed, type RunContext, type RunPrompt, type RunSession, type Runtime } from './runtime.ts'

/** The files of a skill. */
export interface SkillFiles {
  readonly name: string
  /** Relative to the folder. */
  readonly paths: readonly string[]
  read(paths: readonly string[]): Promise<readonly { readonly path: string; readonly content: Buffer }[]>
}

interface Deps {
  /** Returns the folders of the skills in the session's prompt. `principal`: who queued the prompt. */
  readonly foldersOf: (session: RunSession, principal: string | undefined) => Promise<readonly SkillFiles[]>
  /** Returns the workspace of a session. */
  readonly filesOf: (session: RunSession) => Promise<Pick<WorkspaceFiles, 'list' | 'write'>>
}

/** In the workspace. Checkpoints leave it out: each run restores it from the library. */
export const skillsFolder = '.switchyard/skills'

/** Files that are read from the library at once. */
const chunk = 20
/** Paths of a folder that the prompt names. */
const maxNamed = 50

/** True for a runtime whose agents get the files of their skills. */
export const takesSkillFiles = (runtime: Pick<Runtime, 'workspace'> | undefined): boolean =>
  runtime?.workspace !== undefined

/**
 * Returns the runtime with the files of skills: before a run it writes those that the workspace lacks, and the system prompt
 * says where they are. A runtime without a workspace stays as it is.
 */
export function withSkillFiles<R extends Runtime>(runtime: R, { foldersOf, filesOf }: Deps): R {
  if (!takesSkillFiles(runtime)) return runtime
  const { contextOf } = runtime
  return {
    ...runtime,
    ...(contextOf && {
      contextOf: async (session, request) => {
        const note = noteOf(await foldersOf(session, request.payer?.principal))
        return contextOf(noted(session, note), { ...request, prompt: noted(request.prompt, note) })
      },
    }),
    async *run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch> {
      const folders = await foldersOf(session, prompt.principal)
      if (folders.length > 0 && usesWorkspace(session, prompt, context)) {
        const problem = await place(folders, await filesOf(session)).then(() => undefined, messageOf)
        if (problem !== undefined)
          return yield [failed('invalid_request_error', `cannot write the files of skills: ${problem}`)]
      }
      const note = noteOf(folders)
      yield* runtime.run(noted(session, note), noted(prompt, note), context)
    },
  }
}

async function place(folders: readonly SkillFiles[], files: Awaited<ReturnType<Deps['filesOf']>>): Promise<void> {
  const present = await files.list(skillsFolder, { skip: new Set() }).then(
    ({ paths }) => new Set(paths),
    () => new Set<string>(),
  )
  for (const { name, paths, read } of folders) {
    const missing = paths.filter(path => !present.has(`${name}/${path}`))
    for (let at = 0; at < missing.length; at += chunk) {
      for (const { path, content } of await read(missing.slice(at, at + chunk)))
        await files.write(`${skillsFolder}/${name}/${path}`, content)
    }
  }
}

/** Returns the text of the system prompt about the folders; empty without any. */
function noteOf(folders: readonly SkillFiles[]): string {
  if (folders.length === 0) return ''
  const lines = folders.map(({ name, paths }) => `- ${skillsFolder}/${name}: ${namedList(paths, maxNamed)}`)
  return ['Paths in your skills are relative to their folders in the workspace:', ...lines].join('\n')
}

/** Returns what has a system prompt with the note at the end of it. */
const noted = <T extends { readonly system: string | null }>(owner: T, note: string): T =>
  note === '' || owner.system === null
    ? owner
    : { ...owner, system: owner.system === '' ? note : `${owner.system}\n\n${note}` }
