import { Argument, type Command, InvalidArgumentError } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { someText } from '../parse.ts'
import { type Registry, withExamples } from '../world.ts'
import { plainPrompts, showCapabilities, testRuntime } from './command.ts'

interface TestOptions {
  readonly model?: string
  readonly prompt: string
  readonly textPrompt: string
  readonly toolPrompt: string
  readonly longPrompt: string
  readonly owner: string
  readonly timeout: number
  readonly only?: readonly string[]
  readonly capabilities?: boolean
}

const maxSeconds = 3_600

function seconds(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > maxSeconds) {
    throw new InvalidArgumentError(`It must be a whole number of seconds, 1 to ${maxSeconds}.`)
  }
  return value
}

const names = (text: string): string[] => text.split(',').map(name => name.trim())

/** Adds `runtimes test`. */
export function addTestCommand(runtimes: Command, { world, doing }: Registry): void {
  const test = runtimes
    .command('test')
    .description('run the conformance suite on a runtime; creates sessions and agents, and makes paid model calls')
    .addArgument(new Argument('[alias]', 'built-in id or alias').argParser(someText))
    .option('--model <name>', "model to use; default: the service's default", someText)
    .option('--prompt <text>', 'prompt for a short reply', someText, plainPrompts.plain)
    .option('--text-prompt <text>', 'prompt for a reply of two sentences or more', someText, plainPrompts.text)
    .option('--tool-prompt <text>', 'prompt that makes the model call a tool', someText, plainPrompts.tool)
    .option('--long-prompt <text>', 'prompt that takes several seconds', someText, plainPrompts.long)
    .option(
      '--owner <id>',
      'owner of the created agents; a key with an owner must use that owner',
      someText,
      'conformance',
    )
    .option('--timeout <seconds>', 'timeout of one run', seconds, 120)
    .option('--only <ids>', 'run only these cases; comma-separated', names)
    .option('--capabilities', 'only print the capabilities that runtimes claim, as a Markdown table')
    .action(
      doing<TestOptions>(({ client, out }, options, [id]) => {
        if (options.capabilities) return showCapabilities(client, { id }, out)
        if (id === undefined) throw new CommandFailed('alias of the runtime is required', exitCodes.usage)
        const { model, owner, timeout, only, prompt, textPrompt, toolPrompt, longPrompt } = options
        const prompts = { plain: prompt, text: textPrompt, tool: toolPrompt, long: longPrompt }
        const { nowMs, stop } = world
        return testRuntime(client, { id, model, prompts, owner, withinMs: timeout * 1_000, only, nowMs, stop }, out)
      }),
    )
  withExamples(test, [
    'switchyard runtimes test builtin --model demo',
    'switchyard runtimes test oc --only run,tools,interrupt --json',
    'switchyard runtimes test --capabilities',
  ])
}
