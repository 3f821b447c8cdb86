import { Fields } from '../../parts/may-change.tsx'
import { PageTabs } from '../../parts/page-tabs.tsx'
import css from './agent.module.css'
import { MemoriesTab } from './memories-tab.tsx'
import { ModelTab } from './model-tab.tsx'
import { PromptTab } from './prompt-tab.tsx'
import { RuntimeTab } from './runtime-tab.tsx'
import { SkillsTab } from './skills-tab.tsx'
import { ToolsTab } from './tools/tools-tab.tsx'
import { TriggersTab } from './triggers-tab.tsx'
import type { Editing } from './use-draft.ts'
import { VersionsTab } from './versions-tab.tsx'

export const agentTabs = ['prompt', 'model', 'runtime', 'tools', 'skills', 'memories', 'triggers', 'versions'] as const
export type AgentTab = (typeof agentTabs)[number]

const titles: Readonly<Record<AgentTab, string>> = {
  prompt: 'Prompt',
  model: 'Model',
  runtime: 'Runtime',
  tools: 'Tools',
  skills: 'Skills',
  memories: 'Memories',
  triggers: 'Triggers',
  versions: 'Versions',
}

interface Props {
  readonly editing: Editing
  readonly tab: AgentTab
}

/** The settings of an agent, in parts. */
export function AgentTabs({ editing, tab }: Props) {
  return (
    <section className={css.settings} aria-label="Settings">
      <PageTabs
        label="Parts of the agent"
        tabs={agentTabs.map(value => ({ value, label: titles[value] }))}
        value={tab}
      />
      <div className={css.tab}>
        <Fields>
          <TabContent editing={editing} tab={tab} />
        </Fields>
      </div>
    </section>
  )
}

function TabContent({ editing, tab }: Props) {
  switch (tab) {
    case 'prompt':
      return <PromptTab editing={editing} />
    case 'model':
      return <ModelTab editing={editing} />
    case 'runtime':
      return <RuntimeTab editing={editing} />
    case 'tools':
      return <ToolsTab editing={editing} />
    case 'skills':
      return <SkillsTab editing={editing} />
    case 'memories':
      return <MemoriesTab editing={editing} />
    case 'triggers':
      return <TriggersTab editing={editing} />
    case 'versions':
      return <VersionsTab editing={editing} />
  }
}
