import type { ByteGate } from '../platform/byte-gate.ts'
import { isShortOfFiles, shortOfFiles } from '../platform/open-files.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { failureResult, type RunServices, type ToolMemories } from './tool.ts'
import type { RunTool, ToolSource } from './tool-source.ts'
import { type EnabledTool, isSandboxTool, memoryTools } from './toolset.ts'

interface SandboxParts {
  /** Opens the sandbox on the first call. */
  readonly open: () => Promise<Sandbox>
  /** Limits the memory of concurrent calls. */
  readonly memory: ByteGate
  readonly services: RunServices
}

/** Returns the source of the enabled tools that work in the session's sandbox. */
export function sandboxSource(enabled: readonly EnabledTool[], { open, memory, services }: SandboxParts): ToolSource {
  return {
    name: 'built-in tools',
    list: async () =>
      enabled
        .filter(({ tool }) => isSandboxTool(tool.name))
        .map(({ tool, policy }): RunTool => {
          const { name, description, inputSchema, reads, idempotent } = tool
          return {
            ...{ name, description, inputSchema, reads, idempotent, policy },
            async call(input, context) {
              let sandbox: Sandbox
              try {
                sandbox = await open()
              } catch (error) {
                // Without a sandbox the call fails, and the run continues.
                return failureResult(`cannot open the sandbox of this session: ${causeOf(error)}`)
              }
              return tool.run(input, { ...context, ...services, sandbox, memory })
            },
          }
        }),
  }
}

function causeOf(error: unknown): string {
  if (isShortOfFiles(error)) return shortOfFiles
  return error instanceof Error ? error.message : 'unknown error'
}

/** Returns the source of the enabled tools for the memories of the session's agent. */
export function memorySource(enabled: readonly EnabledTool[], memories: ToolMemories): ToolSource {
  const policies = new Map(enabled.map(({ tool, policy }) => [tool.name, policy]))
  return {
    name: 'memory tools',
    list: async () =>
      memoryTools.flatMap((tool): RunTool[] => {
        const { name, description, inputSchema, reads, idempotent } = tool
        const policy = policies.get(name)
        if (policy === undefined) return []
        const facts = { name, description, inputSchema, reads, idempotent, policy }
        return [{ ...facts, call: (input, context) => tool.run(input, { ...context, memories }) }]
      }),
  }
}
