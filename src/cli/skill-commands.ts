import { Argument, type Command } from 'commander'
import { someText, wholeNumber } from './parse.ts'
import { attachSkill, detachSkill, importSkills, listSkills, upgradeSkill } from './skills.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
}

const argument = (name: string, description: string) => new Argument(name, description).argParser(someText)

/** Adds `skills`. */
export function addSkillCommands(program: Command, { doing }: Registry): void {
  const skills = program.command('skills').description('instructions that agents share')
  const list = skills
    .command('ls')
    .alias('list')
    .description('list the skills of the library, newest first')
    .option('--limit <n>', 'how many', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'go on where a page before has ended')
    .action(doing<ListOptions>(({ client, out }, { limit, cursor }) => listSkills(client, { limit, cursor }, out)))
  const imported = skills
    .command('import')
    .description('make skills of a folder with a SKILL.md, or of the folders in it')
    .addArgument(argument('<folder>', 'where they are'))
    .action(doing(({ client, out }, _, [folder = '']) => importSkills(client, { folder }, out)))
  const attach = skills
    .command('attach')
    .description('append a skill to the system prompt of an agent')
    .addArgument(argument('<agent>', 'id of the agent'))
    .addArgument(argument('<skill>', 'id of the skill'))
    .action(doing(({ client, out }, _, [agentId = '', skillId = '']) => attachSkill(client, { agentId, skillId }, out)))
  const detach = skills
    .command('detach')
    .description('take a skill, or all, out of the system prompt of an agent')
    .addArgument(argument('<agent>', 'id of the agent'))
    .addArgument(argument('[skill]', 'id of the skill; all unless given'))
    .action(doing(({ client, out }, _, [agentId = '', skillId]) => detachSkill(client, { agentId, skillId }, out)))
  const upgrade = skills
    .command('upgrade')
    .description('bring the copies that agents carry to what the library has')
    .addArgument(argument('<skill>', 'id of the skill'))
    .option('--dry-run', 'only say what would be done')
    .option('--include-edited', 'replace copies that were edited, too')
    .action(
      doing<{ dryRun?: boolean; includeEdited?: boolean }>(
        ({ client, out }, { dryRun = false, includeEdited = false }, [skillId = '']) =>
          upgradeSkill(client, { skillId, isDryRun: dryRun, withEdited: includeEdited }, out),
      ),
    )
  withExamples(list, ['switchyard skills ls', 'switchyard skills ls --json'])
  withExamples(imported, ['switchyard skills import ./skills/terse', 'switchyard skills import ./skills'])
  withExamples(attach, ['switchyard skills attach agent_0199 skill_0199'])
  withExamples(detach, ['switchyard skills detach agent_0199 skill_0199', 'switchyard skills detach agent_0199'])
  withExamples(upgrade, ['switchyard skills upgrade skill_0199 --dry-run', 'switchyard skills upgrade skill_0199'])
  withExamples(skills, ['switchyard skills import ./skills/terse', 'switchyard skills ls'])
}
