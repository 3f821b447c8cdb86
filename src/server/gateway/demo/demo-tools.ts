import type { DemoStep } from './demo-plan.ts'

/** A tool that the request offers, as far as the script looks at it. */
export interface OfferedTool {
  readonly name: string
  /** Names of its parameters. */
  readonly parameters: readonly string[]
}

/** A call of an offered tool. */
export interface ToolCall {
  readonly name: string
  readonly input: Readonly<Record<string, string>>
}

/** The tools of a request body, whatever else it may hold. */
export function offeredTools({
  tools,
  tool_choice: choice,
}: Readonly<Record<string, unknown>>): readonly OfferedTool[] {
  if (!Array.isArray(tools) || (choice as { type?: unknown } | undefined)?.type === 'none') return []
  return tools.flatMap(tool => {
    const { name, input_schema: schema } = (tool ?? {}) as {
      name?: unknown
      input_schema?: { properties?: unknown } | null
    }
    return typeof name === 'string' ? [{ name, parameters: Object.keys(schema?.properties ?? {}) }] : []
  })
}

/** The call that does `step`, or undefined when no offered tool can. */
export function callFor(step: DemoStep, tools: readonly OfferedTool[]): ToolCall | undefined {
  if (step.kind === 'write') {
    const own = filled(tools, /^write(_file)?$/i, { file: step.file, text: step.content })
    if (own) return own
  }
  if (step.kind === 'read') {
    const own = filled(tools, /^read(_file)?$/i, { file: step.file })
    if (own) return own
  }
  return filled(tools, /^(bash|shell)$/i, { command: commandFor(step) })
}

/** Spellings of the parameters among the agents that bring tools along. */
const spellings = {
  file: ['file_path', 'filePath', 'path', 'file'],
  text: ['content', 'text', 'contents'],
  command: ['command', 'cmd'],
}

function filled(
  tools: readonly OfferedTool[],
  name: RegExp,
  values: Readonly<Partial<Record<keyof typeof spellings, string>>>,
): ToolCall | undefined {
  const tool = tools.find(offered => name.test(offered.name))
  if (!tool) return undefined
  const input: Record<string, string> = {}
  for (const [meaning, value] of Object.entries(values)) {
    const known = spellings[meaning as keyof typeof spellings]
    input[known.find(spelling => tool.parameters.includes(spelling)) ?? known[0] ?? meaning] = value
  }
  return { name: tool.name, input }
}

function commandFor(step: DemoStep): string {
  switch (step.kind) {
    case 'write':
      return `printf '%s\\n' ${shellQuoted(step.content)} > ${shellQuoted(step.file)}`
    case 'read':
      return `cat ${shellQuoted(step.file)}`
    case 'run':
      return step.command
    case 'list':
      return 'ls -la'
  }
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
