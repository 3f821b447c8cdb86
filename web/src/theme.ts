import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

/** The only accent: actions, focus and selection. Colors of states are roles below. */
const accent: MantineColorsTuple = [
  '#f0fdfa',
  '#ccfbf1',
  '#99f6e4',
  '#5eead4',
  '#2dd4bf',
  '#14b8a6',
  '#0d9488',
  '#0f766e',
  '#115e59',
  '#134e4a',
]

const dark: MantineColorsTuple = [
  '#e6e8eb',
  '#b4bac2',
  '#98a0aa',
  '#5c6470',
  '#3d444e',
  '#2c323a',
  '#20252c',
  '#171b21',
  '#11151a',
  '#0c0f13',
]

/** Names of states. Each has a color for text and marks, and a soft background. */
export const stateNames = ['running', 'attention', 'waiting', 'failed', 'stopped', 'done'] as const
export type StateName = (typeof stateNames)[number]

type Shades = Readonly<Record<StateName, readonly [ink: string, soft: string]>>

const lightStates: Shades = {
  running: ['#1d5fd1', '#e8f0fe'],
  attention: ['#6d3fd6', '#f1ebfe'],
  waiting: ['#8a5200', '#fdf1dc'],
  failed: ['#c02626', '#fdebeb'],
  stopped: ['#596270', '#eef0f3'],
  done: ['#3c4551', '#eef0f3'],
}

const darkStates: Shades = {
  running: ['#7fb2ff', '#182a46'],
  attention: ['#bda4ff', '#2b2147'],
  waiting: ['#f0b860', '#382a12'],
  failed: ['#ff8f8f', '#401c1e'],
  stopped: ['#a3acb8', '#242a32'],
  done: ['#c3cad3', '#242a32'],
}

const stateVariables = (shades: Shades): Record<string, string> =>
  Object.fromEntries(
    stateNames.flatMap(name => [
      [`--state-${name}`, shades[name][0]],
      [`--state-${name}-soft`, shades[name][1]],
    ]),
  )

/** Colors of terminal output, by the names of the ANSI codes; each is readable on the sunken surface. */
const lightTerminal = {
  black: '#171b21',
  red: '#b42318',
  green: '#1a7034',
  yellow: '#835400',
  blue: '#1d5fd1',
  magenta: '#8a2fb0',
  cyan: '#0b6b78',
  white: '#596270',
}

const darkTerminal: typeof lightTerminal = {
  black: '#98a0aa',
  red: '#ff8f8f',
  green: '#6fd68a',
  yellow: '#f0c060',
  blue: '#7fb2ff',
  magenta: '#d79bff',
  cyan: '#5fd3e0',
  white: '#e6e8eb',
}

/**
 * Colors of series in charts, in the order of the series, then of all that has no series. None is the color of a state.
 * Ten are too many to tell apart by color alone, so series are named in legends and tables, too.
 */
const lightSeries = [
  '#0f8a7e',
  '#b0439a',
  '#6b8518',
  '#2b8fb3',
  '#9a6a3f',
  '#4f5f9e',
  '#d0679b',
  '#3f9a55',
  '#8a6f9e',
  '#5c8a8f',
]
const darkSeries: typeof lightSeries = [
  '#35c4b4',
  '#e07fca',
  '#b5cf5a',
  '#63c3e6',
  '#cfa077',
  '#98a8e6',
  '#f4a3c8',
  '#79cf8e',
  '#c3a8d8',
  '#93bfc4',
]

const seriesVariables = (colors: typeof lightSeries): Record<string, string> =>
  Object.fromEntries(colors.map((color, at) => [`--series-${at + 1}`, color]))

export const seriesColors: readonly string[] = lightSeries.map((_, at) => `var(--series-${at + 1})`)

const terminalVariables = (colors: typeof lightTerminal): Record<string, string> =>
  Object.fromEntries(Object.entries(colors).map(([name, color]) => [`--terminal-${name}`, color]))

/** CSS variables of both color schemes; styles use these roles instead of colors. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {
    '--row-height': '36px',
    '--menu-width': '216px',
    '--top-height': '48px',
    '--panel-width': '480px',
    '--motion': '120ms ease-out',
  },
  light: {
    '--surface': '#ffffff',
    '--surface-sunken': '#f6f7f9',
    '--surface-hover': '#f0f2f5',
    '--surface-selected': '#e3f5f2',
    '--line': '#e0e4e9',
    '--ink': '#171b21',
    '--ink-soft': '#596270',
    '--accent': '#0f766e',
    '--added': '#e3f6e8',
    '--removed': '#fdebeb',
    '--paper': '#ffffff',
    '--mantine-color-body': '#ffffff',
    '--mantine-color-text': '#171b21',
    '--mantine-color-dimmed': '#596270',
    '--mantine-color-placeholder': '#6a7380',
    '--mantine-color-error': '#c02626',
    '--mantine-color-anchor': '#0f766e',
    ...stateVariables(lightStates),
    ...terminalVariables(lightTerminal),
    ...seriesVariables(lightSeries),
    '--series-other': '#8a94a1',
  },
  dark: {
    '--surface': '#11151a',
    '--surface-sunken': '#0c0f13',
    '--surface-hover': '#1c2128',
    '--surface-selected': '#0f2f2d',
    '--line': '#2c323a',
    '--ink': '#e6e8eb',
    '--ink-soft': '#a0a8b3',
    '--accent': '#2dd4bf',
    '--added': '#12301d',
    '--removed': '#3a1b1e',
    '--paper': '#ffffff',
    '--mantine-color-body': '#11151a',
    '--mantine-color-text': '#e6e8eb',
    '--mantine-color-dimmed': '#a0a8b3',
    '--mantine-color-placeholder': '#8b94a0',
    '--mantine-color-error': '#ff8f8f',
    '--mantine-color-anchor': '#2dd4bf',
    ...stateVariables(darkStates),
    ...terminalVariables(darkTerminal),
    ...seriesVariables(darkSeries),
    '--series-other': '#6b7582',
  },
})

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 7 },
  colors: { accent, dark },
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, monospace",
  defaultRadius: 6,
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '1.5', sm: '1.5', md: '1.5', lg: '1.5', xl: '1.4' },
  spacing: { xs: '4px', sm: '8px', md: '16px', lg: '24px', xl: '32px' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '20px', lineHeight: '1.4' },
      h2: { fontSize: '16px', lineHeight: '1.5' },
      h3: { fontSize: '14px', lineHeight: '1.5' },
    },
  },
  components: {
    Button: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm' } },
    NumberInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', allowDeselect: false } },
    MultiSelect: { defaultProps: { size: 'sm' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false, events: { hover: true, focus: true, touch: true } } },
    Modal: {
      defaultProps: {
        centered: true,
        transitionProps: { duration: 120 },
        closeButtonProps: { 'aria-label': 'Close dialog' },
      },
    },
    Drawer: {
      defaultProps: {
        position: 'right',
        transitionProps: { duration: 120 },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    },
  },
})
