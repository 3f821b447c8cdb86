import type { Command } from 'commander'
import { answerApproval, listApprovals } from './approvals.ts'
import { approvalFinder } from './finders.ts'
import { NameArgument } from './names.ts'
import { jsonText, someText, wholeNumber } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly all?: boolean
  readonly limit: number
  readonly cursor?: string
}

const approval = () => new NameArgument('<approval>', 'id of the approval', approvalFinder)

/** Adds `approvals`. */
export function addApprovalCommands(program: Command, { doing }: Registry): void {
  const approvals = program.command('approvals').description('tool calls that wait for approval')
  const list = approvals
    .command('ls')
    .alias('list')
    .description('list pending approvals, newest first')
    .option('--all', 'include decided ones')
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')
    .action(
      doing<ListOptions>(({ client, out }, { all = false, limit, cursor }) =>
        listApprovals(client, { isWhole: all, limit, cursor }, out),
      ),
    )
  const allow = approvals
    .command('allow')
    .description('allow a tool call to run once')
    .addArgument(approval())
    .option('--input <json>', 'arguments that replace those of the model', jsonText)
    .action(
      doing<{ input?: { value: unknown } }>(({ client, out }, { input }, [id = '']) =>
        answerApproval(client, { id, result: 'allow', input: input?.value }, out),
      ),
    )
  const deny = approvals
    .command('deny')
    .description('deny a tool call')
    .addArgument(approval())
    .option('--message <text>', 'reason, shown to the model', someText)
    .action(
      doing<{ message?: string }>(({ client, out }, { message }, [id = '']) =>
        answerApproval(client, { id, result: 'deny', message }, out),
      ),
    )
  withExamples(list, ['switchyard approvals ls', 'switchyard approvals ls --all --json'])
  withExamples(allow, [
    'switchyard approvals allow evt_0199',
    `switchyard approvals allow evt_0199 --input '{"command": "ls"}'`,
  ])
  withExamples(deny, ['switchyard approvals deny evt_0199 --message "not on a Friday"'])
  withExamples(approvals, ['switchyard approvals ls', 'switchyard approvals allow evt_0199'])
}
