/** What is sent in one measurement. */
export type ScenarioName = 'json' | 'large' | 'paced' | 'burst' | 'streams' | 'one json' | 'one stream' | 'one large'
