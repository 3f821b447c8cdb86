import {
  IconBook2,
  IconBrain,
  IconBuildingWarehouse,
  IconCalendarTime,
  IconChartBar,
  IconClipboardCheck,
  IconCpu,
  IconGauge,
  IconHandStop,
  IconHome,
  IconKey,
  IconListDetails,
  IconLock,
  IconMessages,
  IconPlugConnected,
  type IconProps,
  IconReceipt,
  IconRobot,
  IconSettings,
  IconTestPipe,
  IconUser,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import { useIsAdmin, useMayChange } from '../data/sign-in.tsx'

/** A page in the menu and the palette. */
export interface MenuPage {
  readonly path:
    | '/'
    | `/console/${
        | 'sessions'
        | 'inbox'
        | 'agents'
        | 'skills'
        | 'memories'
        | 'evaluations'
        | 'webhooks'
        | 'schedules'
        | 'mcp'
        | 'playground'
        | 'usage'
        | 'logs'
        | 'models'
        | 'runtimes'
        | 'keys'
        | 'users'
        | 'teams'
        | 'budgets'
        | 'vault'
        | 'audit'
        | 'settings'}`
  readonly title: string
  readonly icon: ComponentType<IconProps>
  /** Letter after `g` that opens it. */
  readonly letter: string
  /** Right without which it is not offered: that of administrators, or to change something. */
  readonly needs?: 'admin' | 'change'
}

interface MenuGroup {
  readonly title: string | undefined
  readonly pages: readonly MenuPage[]
}

/** The menu in the order of work; pages of administrators last. */
const menu: readonly MenuGroup[] = [
  {
    title: undefined,
    pages: [
      { path: '/', title: 'Overview', icon: IconHome, letter: 'o' },
      { path: '/console/sessions', title: 'Sessions', icon: IconMessages, letter: 's' },
      { path: '/console/inbox', title: 'Inbox', icon: IconHandStop, letter: 'i' },
    ],
  },
  {
    title: 'Agents',
    pages: [
      { path: '/console/agents', title: 'Agents', icon: IconRobot, letter: 'a' },
      { path: '/console/skills', title: 'Skills', icon: IconBook2, letter: 'k' },
      { path: '/console/memories', title: 'Memories', icon: IconBrain, letter: 'm' },
      { path: '/console/evaluations', title: 'Evaluations', icon: IconClipboardCheck, letter: 'f' },
    ],
  },
  {
    title: 'Triggers and tools',
    pages: [
      { path: '/console/webhooks', title: 'Webhooks', icon: IconWebhook, letter: 'w' },
      { path: '/console/schedules', title: 'Schedules', icon: IconCalendarTime, letter: 'c' },
      { path: '/console/mcp', title: 'MCP servers', icon: IconPlugConnected, letter: 't' },
    ],
  },
  {
    title: 'Models',
    pages: [
      { path: '/console/playground', title: 'Playground', icon: IconTestPipe, letter: 'p', needs: 'change' },
      { path: '/console/usage', title: 'Usage', icon: IconChartBar, letter: 'u' },
      { path: '/console/logs', title: 'Logs', icon: IconListDetails, letter: 'l' },
    ],
  },
  {
    title: 'Administration',
    pages: [
      { path: '/console/models', title: 'Models and providers', icon: IconCpu, letter: 'd', needs: 'admin' },
      { path: '/console/runtimes', title: 'Runtimes', icon: IconBuildingWarehouse, letter: 'r', needs: 'admin' },
      { path: '/console/keys', title: 'API keys', icon: IconKey, letter: 'y', needs: 'admin' },
      { path: '/console/users', title: 'Users', icon: IconUser, letter: 'n', needs: 'admin' },
      { path: '/console/teams', title: 'Teams', icon: IconUsersGroup, letter: 'q', needs: 'admin' },
      { path: '/console/budgets', title: 'Budgets', icon: IconGauge, letter: 'b', needs: 'admin' },
      { path: '/console/vault', title: 'Vault', icon: IconLock, letter: 'v' },
      { path: '/console/audit', title: 'Audit', icon: IconReceipt, letter: 'x', needs: 'admin' },
      { path: '/console/settings', title: 'Settings', icon: IconSettings, letter: 'e', needs: 'admin' },
    ],
  },
]

/** Returns the groups of the menu with the pages that the person may use. */
export function useMenu(): readonly MenuGroup[] {
  const rights = { admin: useIsAdmin(), change: useMayChange() }
  return menu
    .map(group => ({ ...group, pages: group.pages.filter(({ needs }) => needs === undefined || rights[needs]) }))
    .filter(({ pages }) => pages.length > 0)
}

/** Returns the pages that the person may use. */
export const usePages = (): readonly MenuPage[] => useMenu().flatMap(({ pages }) => pages)
