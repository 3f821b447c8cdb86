import type { Workplace } from '../egress/check-network.ts'
import { type Json, listOf, nonEmptyText, recordOf, textOf } from '../platform/json.ts'
import type { Finding } from '../runtimes/runtime.ts'
import { maxCommandBytes } from './sandbox.ts'
import type { Sandboxes } from './sandboxes.ts'
import { setupScript } from './setup.ts'

/** Checks `config.sandbox` beyond its schema. */
export type SandboxCheck = ReturnType<typeof createSandboxCheck>

const fields = ['image', 'setup'] as const

export function createSandboxCheck({ detail, images, hasSetup }: Pick<Sandboxes, 'detail' | 'images' | 'hasSetup'>) {
  const imageProblem = (image: string): string | undefined => {
    if (images.length === 0)
      return `needs sandbox.driver docker or kubernetes in the configuration, but this service uses: ${detail}`
    return images.includes(image)
      ? undefined
      : `is not allowed; use one of ${images.join(', ')}, or add it to sandbox.images in the configuration`
  }

  const setupProblem = (commands: readonly string[]): string | undefined => {
    if (!hasSetup) return `needs the sandbox bubblewrap or docker, but this service uses: ${detail}`
    const bytes = Buffer.byteLength(setupScript(commands))
    return bytes > maxCommandBytes
      ? `has ${bytes} bytes as one script; the limit is ${maxCommandBytes}; let the commands download longer scripts`
      : undefined
  }

  /** Returns the first problem; undefined for a valid or absent value. */
  return (config: Json, workplace: Workplace): Finding | undefined => {
    const sandbox = recordOf(config['sandbox'])
    const unknown = Object.keys(sandbox).find(name => !fields.some(field => field === name))
    if (unknown !== undefined)
      return finding(`.${unknown.slice(0, 100)}`, `is unknown; known fields: ${fields.join(', ')}`)
    const image = nonEmptyText(sandbox['image'])
    const commands = listOf(sandbox['setup']).map(textOf)
    const hasCommands = commands.length > 0
    if (image === undefined && !hasCommands) return undefined
    if (workplace !== 'sandbox')
      return finding('', 'is not supported: the runtime does not work in a sandbox of this service')
    const wrongImage = image === undefined ? undefined : imageProblem(image)
    if (wrongImage !== undefined) return finding('.image', wrongImage)
    const wrongSetup = hasCommands ? setupProblem(commands) : undefined
    return wrongSetup === undefined ? undefined : finding('.setup', wrongSetup)
  }
}

const finding = (path: string, problem: string): Finding => ({ field: `config.sandbox${path}`, problem })
