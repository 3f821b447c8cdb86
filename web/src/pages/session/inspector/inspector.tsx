import { Tabs } from '@mantine/core'
import { type ComponentType, lazy, Suspense } from 'react'
import { oneOf, useAddress } from '../../../parts/address.ts'
import { Loading } from '../../../parts/page-state.tsx'
import css from './inspector.module.css'
import type { InspectorProps } from './inspector-props.ts'
import { SessionTab } from './session/session-tab.tsx'

const tabs = ['session', 'events', 'tools', 'files', 'context', 'threads'] as const
type Tab = (typeof tabs)[number]

const titles: Readonly<Record<Tab, string>> = {
  session: 'Session',
  events: 'Events',
  tools: 'Tools',
  files: 'Files',
  context: 'Context',
  threads: 'Threads',
}

const contents: Readonly<Record<Tab, ComponentType<InspectorProps>>> = {
  session: SessionTab,
  events: lazy(() => import('./events/events-tab.tsx').then(module => ({ default: module.EventsTab }))),
  tools: lazy(() => import('./tools/tools-tab.tsx').then(module => ({ default: module.ToolsTab }))),
  files: lazy(() => import('./files/files-tab.tsx').then(module => ({ default: module.FilesTab }))),
  context: lazy(() => import('./context/context-tab.tsx').then(module => ({ default: module.ContextTab }))),
  threads: lazy(() => import('./threads/threads-tab.tsx').then(module => ({ default: module.ThreadsTab }))),
}

/** Details of the session and of its events. The tab is in the address as `tab`. */
export function Inspector(props: InspectorProps) {
  const [address, setAddress] = useAddress<'tab'>()
  const tab = oneOf(address.tab, tabs)
  const Content = contents[tab]
  return (
    <Tabs
      className={css.inspector}
      value={tab}
      onChange={next => setAddress({ tab: next === tabs[0] ? undefined : (next ?? undefined) })}
      keepMounted={false}
    >
      <Tabs.List className={css.tabs} aria-label="Parts of the inspector">
        {tabs.map(each => (
          <Tabs.Tab key={each} value={each} className={css.tab}>
            {titles[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={tab} className={css.panel} data-tab={tab}>
        <Suspense fallback={<Loading />}>
          <Content {...props} />
        </Suspense>
      </Tabs.Panel>
    </Tabs>
  )
}
