// Models: the chip, the sheet, loads, what is kept, the picture of the layers, errors.
import type { ErrorCode } from '@sluice/engine';
import { count } from '../format';

/** What an error means, and what to do about it; '' if the library's message says that well enough. */
export type Advice = Readonly<Record<ErrorCode, { title: string; advice: string }>>;

const errorsEn: Advice = {
  bad_file: { title: 'This file can’t be read as a model', advice: '' },
  unsupported_model: {
    title: 'This kind of model isn’t supported yet',
    advice: 'Take a model of the Llama, Qwen2, Qwen3, Gemma 3 or GPT-2 families.',
  },
  unsupported_type: {
    title: 'The weights are kept in a form that isn’t supported yet',
    advice: 'Take the same model as Q8_0, Q4_0 or Q4_K_M.',
  },
  out_of_memory: {
    title: 'The model doesn’t fit into this browser’s memory',
    advice: 'Close other tabs, or take a smaller model or a smaller type, such as Q4_0.',
  },
  budget_too_small: {
    title: 'The model needs more memory than it may take',
    advice:
      'Let it take more under Settings, Memory, or take a smaller model or a smaller type, such as Q4_0.',
  },
  download_failed: { title: 'The model couldn’t be fetched', advice: '' },
  download_corrupt: {
    title: 'What arrived isn’t the file that was promised',
    advice:
      'Nothing of it was kept. Try again; if it happens twice, the file on the server is damaged.',
  },
  offline: {
    title: 'There is no network',
    advice:
      'Connect this device and try again: what has come is kept. Models on this device open without a network.',
  },
  storage_full: {
    title: 'There is no room to keep the model on this device',
    advice:
      'Remove models that you don’t need, or load this one without keeping it: then it has to be fetched again at the next visit.',
  },
  context_full: {
    title: 'The prompt is longer than the model can read',
    advice: 'Shorten the prompt, or open a model with a longer context.',
  },
  invalid_argument: { title: 'This can’t be used as it is', advice: '' },
  busy: { title: 'The model is still writing', advice: '' },
  worker_died: {
    title: 'The engine stopped unexpectedly',
    advice: 'Load the model again; if memory is short, close other tabs first.',
  },
  unsupported_browser: { title: 'This browser can’t run the engine', advice: '' },
  aborted: { title: 'Stopped', advice: '' },
};

const errorsDe: Advice = {
  bad_file: { title: 'Diese Datei lässt sich nicht als Modell lesen', advice: '' },
  unsupported_model: {
    title: 'Diese Art von Modell wird noch nicht unterstützt',
    advice: 'Nimm ein Modell der Familien Llama, Qwen2, Qwen3, Gemma 3 oder GPT-2.',
  },
  unsupported_type: {
    title: 'Die Gewichte liegen in einer Form vor, die noch nicht unterstützt wird',
    advice: 'Nimm dasselbe Modell als Q8_0, Q4_0 oder Q4_K_M.',
  },
  out_of_memory: {
    title: 'Das Modell passt nicht in den Speicher dieses Browsers',
    advice:
      'Schließe andere Tabs, oder nimm ein kleineres Modell oder einen kleineren Typ, etwa Q4_0.',
  },
  budget_too_small: {
    title: 'Das Modell braucht mehr Speicher, als es nehmen darf',
    advice:
      'Erlaube ihm mehr unter Einstellungen, Speicher, oder nimm ein kleineres Modell oder einen kleineren Typ, etwa Q4_0.',
  },
  download_failed: { title: 'Das Modell konnte nicht geholt werden', advice: '' },
  download_corrupt: {
    title: 'Angekommen ist nicht die Datei, die versprochen war',
    advice:
      'Nichts davon wurde behalten. Versuche es noch einmal; passiert es wieder, ist die Datei auf dem Server beschädigt.',
  },
  offline: {
    title: 'Es gibt kein Netz',
    advice:
      'Verbinde dieses Gerät und versuche es noch einmal: Was angekommen ist, bleibt. Modelle auf diesem Gerät öffnen sich ohne Netz.',
  },
  storage_full: {
    title: 'Auf diesem Gerät ist kein Platz, um das Modell zu behalten',
    advice:
      'Entferne Modelle, die du nicht brauchst, oder lade dieses, ohne es zu behalten: Dann muss es beim nächsten Besuch neu geholt werden.',
  },
  context_full: {
    title: 'Der Text ist länger, als das Modell lesen kann',
    advice: 'Kürze ihn, oder öffne ein Modell mit längerem Kontext.',
  },
  invalid_argument: { title: 'So lässt sich das nicht verwenden', advice: '' },
  busy: { title: 'Das Modell schreibt noch', advice: '' },
  worker_died: {
    title: 'Die Recheneinheit ist unerwartet stehen geblieben',
    advice: 'Lade das Modell noch einmal; ist der Speicher knapp, schließe erst andere Tabs.',
  },
  unsupported_browser: { title: 'In diesem Browser läuft die Recheneinheit nicht', advice: '' },
  aborted: { title: 'Angehalten', advice: '' },
};

const layersEn = (n: number): string => `${count(n)} ${n === 1 ? 'layer' : 'layers'}`;
const layersDe = (n: number): string => `${count(n)} ${n === 1 ? 'Schicht' : 'Schichten'}`;

const en = {
  errors: errorsEn,

  chip: {
    label: 'Model',
    none: 'Choose a model',
    /** What a screen reader says of the chip. */
    inUse: (name: string) => `Model: ${name}`,
    coming: (name: string) => `${name} is on its way`,
    paused: (name: string) => `${name} is paused`,
  },

  sheet: {
    title: 'Model',
    noneLoaded: 'None loaded',
    bundled:
      'Comes with this page. It writes simple children’s stories in English and knows nothing else.',
    file: 'A file on this device. It is read here and sent nowhere.',
    keptHere: 'From its server, and kept on this device for the next time.',
    notKept: 'From its server into the memory of this page. It is not kept.',
    more: 'More about this model',
    layers: 'Layers',
    layersOf: (name: string) => `Layers of ${name}`,
    another: 'Another model',
    back: 'Back to the model of this page',
  },

  facts: {
    parameters: 'Parameters',
    size: 'Size',
    memory: 'Memory',
    speed: 'Speed',
    architecture: 'Architecture',
    types: 'Types',
    layers: 'Layers',
    context: 'Context',
    vocabulary: 'Vocabulary',
    licence: 'Licence',
    from: 'From',
    upTo: (amount: string) => `up to ${amount}`,
    thisPage: 'this page',
    fromFile: (name: string, others: number) =>
      `${name}${others === 0 ? '' : ` and ${others} more`}, this device`,
  },

  speed: {
    about: (rate: string) => `about ${rate}`,
    reread: (rate: string) => `about ${rate}, read from this device for each token`,
    slow: 'slow: is read from this device for each token',
    slowShort: 'slow',
    fits: 'fits',
    fitsPartly: 'doesn’t fit whole',
  },

  another: {
    choose: 'Choose a .gguf file',
    orDrop: 'or drop one anywhere on the page',
    address: 'Address',
    addressHint: 'Of a .gguf file, or on the hub: hf:owner/repo:Q4_K_M',
    placeholder: 'https://… or hf:…',
    load: 'Load',
    look: 'Look',
    lookHint: 'Look fetches only the file’s header.',
    wrong: 'Give the full address of a file, with https:// before it, or hf:owner/repo.',
    asking: (host: string) => `Asking ${host} about it…`,
    nameless: 'A model without a name',
    download: (amount: string) => `Download ${amount}`,
    found: 'What was found',
    part: (amount: string) => `${amount} are on this device already.`,
  },

  load: {
    loading: (name: string) => `Loading ${name}`,
    again: (name: string) => `Loading again: ${name}`,
    restReady: (name: string) => `Ready; downloading the rest of ${name}`,
    restWaits: (name: string) => `Writing waits for the rest of ${name}`,
    takesOver: (name: string) => `${name} is ready, and takes over when this text is written`,
    paused: (name: string) => `Paused: ${name}`,
    header: 'Reading the header',
    checking: 'checking that it is the right file',
    fromDevice: 'from this device',
    wereHere: (amount: string) => `${amount} were here`,
    pause: 'Pause',
    cancel: 'Cancel',
    goOn: 'Go on',
    close: 'Close',
    nothingKept: 'Nothing of it could be kept: it will begin anew.',
    partKept: (amount: string) => `${amount} are on this device.`,
    anotherDay: 'You can close this tab, and go on another day.',
    stays: (name: string) => `Until then you can go on with ${name}.`,
  },

  said: {
    cancelled: 'Loading was cancelled',
    paused: 'Paused',
    loading: (name: string) => `Loading ${name}`,
    rest: (name: string) => `${name} can be used; the rest of it is still being downloaded`,
    ready: (name: string) => `${name} is ready`,
    removed: (name: string) => `${name} was removed`,
    free: (amount: string) => `${amount} are free again`,
    pinned: (name: string) => `${name} is pinned`,
    unpinned: (name: string) => `${name} is no longer pinned`,
  },

  kept: {
    title: 'On this device',
    total: (amount: string) => `${amount} are kept.`,
    room: (amount: string) => `There is room for ${amount} more.`,
    none: 'Models from an address are kept here, so that they come only once and work without a network.',
    never: 'This browser lets the page keep no models.',
    remove: 'Remove',
    removeAll: 'Remove all',
    removeAllQuestion: 'Remove all that are neither pinned nor in use?',
    removeQuestion: (name: string) => `Remove ${name}?`,
    removePinned: (name: string) => `${name} is pinned. Remove it?`,
    keepIt: 'Keep it',
    keepThem: 'Keep them',
    open: 'Open',
    goOn: 'Go on',
    goOnWith: (name: string) => `Go on with ${name}`,
    pin: 'Pin',
    unpin: 'Unpin',
    pinHint: 'When room is needed, pinned models stay',
    /** For screen readers: what a button does to which model. */
    what: (verb: string, name: string) => `${verb} ${name}`,
    packed: (amount: string) => `${amount} packed for faster reading`,
    parts: (amount: string, parts: number) => `${amount} in ${parts} parts`,
    inUse: 'in use',
    coming: 'on its way',
    used: (when: string) => `used ${when}`,
    pinned: 'pinned',
    verified: 'verified',
    busyComing: 'It is being fetched here. Pause or cancel that first.',
    busyUsed: 'It is in use here or in another tab. Open another model first, or close that tab.',
  },

  memory: {
    takes: (total: string) => `It takes up to ${total} of memory.`,
    tooMuch: (all: string, total: string, again: string) =>
      `It would take up to ${all} of memory, which is more than it may take here. So it stays below ${total}, ` +
      `and ${again} are read again from this device for each token. That is slower: how fast this device reads decides.`,
    /** How the library names its options, and how the page does. */
    asSet: 'as it is set under Settings, Memory',
    canBeSet: 'another limit can be set under Settings, Memory',
  },

  layers: {
    title: 'Layers',
    count: layersEn,
    embedding: 'embedding',
    head: 'head',
    headIn: (parts: number) => `head in ${parts} parts`,
    table: 'rest of the embedding',
    whole: (n: number) => `The whole model is in memory: ${layersEn(n)}.`,
    onTheirWay: (n: number) => `The model’s ${layersEn(n)} are on their way.`,
    quarters: (quarters: number, n: number) =>
      `${['', 'A quarter', 'Half', 'Three quarters'][quarters] ?? ''} of the model’s ${layersEn(n)} are in memory; the rest is on its way.`,
    stay: (stay: number, n: number, settled: boolean) => {
      const whose = `${stay === 0 ? 'None' : stay} of the model’s ${layersEn(n)}`;
      if (settled) return `${whose} ${stay > 1 ? 'stay' : 'stays'} in memory.`;
      if (stay === 0) return `${whose} will stay in memory.`;
      return `${whose} will stay in memory, and ${stay === 1 ? 'is on its way' : 'are on their way'}.`;
    },
    /** `layers`: how many layers; 0: they are `parts` other parts. */
    turns: (layers: number, parts: number, amount: string) => {
      const what = layers > 0 ? layersEn(layers) : `${parts} ${parts === 1 ? 'part' : 'parts'}`;
      const one = (layers > 0 ? layers : parts) === 1;
      return `${what} ${one ? 'takes its turn' : 'take turns'}: ${amount} are read again for each token.`;
    },
    stillComing: 'The rest of the model is still being downloaded.',
    kinds: { layer: 'Layer', embedding: 'Embedding', head: 'Head', table: 'Rest of the embedding' },
    partOf: (name: string, part: number, parts: number) => `${name}, part ${part} of ${parts}`,
    states: {
      absent: 'not here yet',
      arriving: 'arriving',
      resident: 'in memory',
      computing: 'computing now',
    },
    notNow: 'not here now',
    again: 'read again for each token',
    legend: {
      absent: 'To come',
      arriving: 'Arriving',
      resident: 'In memory',
      again: 'Read again',
      computing: 'Computing',
    },
    network: 'Network',
    device: 'This device',
    ready: 'Layers ready',
    readAgain: 'Read again',
    waited: 'Waited',
    limit: 'Memory limit',
  },

  notices: {
    offer: (host: string) => `This link asks for a model from ${host}`,
    unasked: 'Nothing has been asked of that server yet. It learns your address when you look.',
    partHere: (amount: string, host: string) =>
      `${amount} are on this device already. Going on asks ${host} for the rest.`,
    asking: 'Asking the server about it…',
    found: (name: string, parameters: string, size: string) =>
      `${name}: ${parameters} parameters, ${size} to download.`,
    goOn: 'Go on',
    look: 'Look at the model',
    lookAgain: 'Look again',
    no: 'No, keep the model I have',
    close: 'Close',
    tryAgain: 'Try again',
    withoutLimit: 'Load without the limit',
    withoutKeeping: 'Load without keeping',
    removeModels: 'Remove models',
    alsoFailed: (name: string) => `${name} could not be loaded either.`,
    ignored: 'Parts of this link were left out',
  },
};

const de: typeof en = {
  errors: errorsDe,

  chip: {
    label: 'Modell',
    none: 'Modell wählen',
    inUse: (name) => `Modell: ${name}`,
    coming: (name) => `${name} ist unterwegs`,
    paused: (name) => `${name} ist angehalten`,
  },

  sheet: {
    title: 'Modell',
    noneLoaded: 'Keines geladen',
    bundled:
      'Kommt mit dieser Seite. Es schreibt einfache Kindergeschichten auf Englisch und kann sonst nichts.',
    file: 'Eine Datei auf diesem Gerät. Sie wird hier gelesen und nirgendwohin gesendet.',
    keptHere: 'Von seinem Server, und auf diesem Gerät behalten für das nächste Mal.',
    notKept: 'Von seinem Server in den Speicher dieser Seite. Es wird nicht behalten.',
    more: 'Mehr über dieses Modell',
    layers: 'Schichten',
    layersOf: (name) => `Schichten von ${name}`,
    another: 'Ein anderes Modell',
    back: 'Zurück zum Modell dieser Seite',
  },

  facts: {
    parameters: 'Parameter',
    size: 'Größe',
    memory: 'Speicher',
    speed: 'Tempo',
    architecture: 'Architektur',
    types: 'Typen',
    layers: 'Schichten',
    context: 'Kontext',
    vocabulary: 'Wortschatz',
    licence: 'Lizenz',
    from: 'Von',
    upTo: (amount) => `bis zu ${amount}`,
    thisPage: 'dieser Seite',
    fromFile: (name, others) =>
      `${name}${others === 0 ? '' : ` und ${others} weiteren`}, dieses Gerät`,
  },

  speed: {
    about: (rate) => `etwa ${rate}`,
    reread: (rate) => `etwa ${rate}, für jedes Token von diesem Gerät gelesen`,
    slow: 'langsam: wird für jedes Token von diesem Gerät gelesen',
    slowShort: 'langsam',
    fits: 'passt',
    fitsPartly: 'passt nicht ganz',
  },

  another: {
    choose: 'Eine .gguf-Datei wählen',
    orDrop: 'oder irgendwo auf der Seite ablegen',
    address: 'Adresse',
    addressHint: 'Einer .gguf-Datei, oder auf dem Hub: hf:owner/repo:Q4_K_M',
    placeholder: 'https://… oder hf:…',
    load: 'Laden',
    look: 'Ansehen',
    lookHint: 'Ansehen holt nur den Kopf der Datei.',
    wrong: 'Gib die ganze Adresse einer Datei an, mit https:// davor, oder hf:owner/repo.',
    asking: (host) => `${host} wird danach gefragt …`,
    nameless: 'Ein Modell ohne Namen',
    download: (amount) => `${amount} holen`,
    found: 'Was gefunden wurde',
    part: (amount) => `${amount} sind schon auf diesem Gerät.`,
  },

  load: {
    loading: (name) => `Lädt ${name}`,
    again: (name) => `Lädt wieder: ${name}`,
    restReady: (name) => `Bereit; der Rest von ${name} wird noch geholt`,
    restWaits: (name) => `Das Schreiben wartet auf den Rest von ${name}`,
    takesOver: (name) => `${name} ist bereit und übernimmt, wenn dieser Text fertig ist`,
    paused: (name) => `Angehalten: ${name}`,
    header: 'Liest den Kopf der Datei',
    checking: 'prüft, ob es die richtige Datei ist',
    fromDevice: 'von diesem Gerät',
    wereHere: (amount) => `${amount} waren schon hier`,
    pause: 'Anhalten',
    cancel: 'Abbrechen',
    goOn: 'Weiter',
    close: 'Schließen',
    nothingKept: 'Nichts davon konnte behalten werden: Es fängt von vorn an.',
    partKept: (amount) => `${amount} sind auf diesem Gerät.`,
    anotherDay: 'Du kannst diesen Tab schließen und an einem anderen Tag weitermachen.',
    stays: (name) => `Bis dahin kannst du mit ${name} weitermachen.`,
  },

  said: {
    cancelled: 'Das Laden wurde abgebrochen',
    paused: 'Angehalten',
    loading: (name) => `Lädt ${name}`,
    rest: (name) => `${name} kann benutzt werden; der Rest wird noch geholt`,
    ready: (name) => `${name} ist bereit`,
    removed: (name) => `${name} wurde entfernt`,
    free: (amount) => `${amount} sind wieder frei`,
    pinned: (name) => `${name} ist angeheftet`,
    unpinned: (name) => `${name} ist nicht mehr angeheftet`,
  },

  kept: {
    title: 'Auf diesem Gerät',
    total: (amount) => `${amount} werden behalten.`,
    room: (amount) => `Platz ist noch für ${amount}.`,
    none: 'Modelle von einer Adresse werden hier behalten, damit sie nur einmal kommen und ohne Netz laufen.',
    never: 'Dieser Browser lässt die Seite keine Modelle behalten.',
    remove: 'Entfernen',
    removeAll: 'Alle entfernen',
    removeAllQuestion: 'Alle entfernen, die weder angeheftet noch in Gebrauch sind?',
    removeQuestion: (name) => `${name} entfernen?`,
    removePinned: (name) => `${name} ist angeheftet. Trotzdem entfernen?`,
    keepIt: 'Behalten',
    keepThem: 'Behalten',
    open: 'Öffnen',
    goOn: 'Weiter',
    goOnWith: (name) => `Weiter mit ${name}`,
    pin: 'Anheften',
    unpin: 'Lösen',
    pinHint: 'Wenn Platz gebraucht wird, bleiben angeheftete Modelle',
    what: (verb, name) => `${verb}: ${name}`,
    packed: (amount) => `${amount} gepackt für schnelleres Lesen`,
    parts: (amount, parts) => `${amount} in ${parts} Teilen`,
    inUse: 'in Gebrauch',
    coming: 'unterwegs',
    used: (when) => `benutzt ${when}`,
    pinned: 'angeheftet',
    verified: 'geprüft',
    busyComing: 'Es wird gerade hier geholt. Halte das erst an, oder brich es ab.',
    busyUsed:
      'Es ist hier oder in einem anderen Tab in Gebrauch. Öffne erst ein anderes Modell, oder schließe den Tab.',
  },

  memory: {
    takes: (total) => `Es nimmt bis zu ${total} Speicher.`,
    tooMuch: (all, total, again) =>
      `Es würde bis zu ${all} Speicher nehmen, mehr als es hier darf. Darum bleibt es unter ${total}, und ${again} ` +
      `werden für jedes Token neu von diesem Gerät gelesen. Das ist langsamer: Es kommt darauf an, wie schnell dieses Gerät liest.`,
    asSet: 'as it is set under Einstellungen, Speicher',
    canBeSet: 'another limit can be set under Einstellungen, Speicher',
  },

  layers: {
    title: 'Schichten',
    count: layersDe,
    embedding: 'Einbettung',
    head: 'Kopf',
    headIn: (parts) => `Kopf in ${parts} Teilen`,
    table: 'Rest der Einbettung',
    whole: (n) => `Das ganze Modell ist im Speicher: ${layersDe(n)}.`,
    onTheirWay: (n) =>
      n === 1
        ? 'Die Schicht des Modells ist unterwegs.'
        : `Die ${layersDe(n)} des Modells sind unterwegs.`,
    quarters: (quarters, n) =>
      `${['', 'Ein Viertel', 'Die Hälfte', 'Drei Viertel'][quarters] ?? ''} der ${layersDe(n)} des Modells ${quarters === 3 ? 'sind' : 'ist'} im Speicher; der Rest ist unterwegs.`,
    stay: (stay, n, settled) => {
      const whose = `${stay === 0 ? 'Keine' : stay === 1 ? 'Eine' : stay} der ${layersDe(n)} des Modells`;
      if (settled) return `${whose} ${stay > 1 ? 'bleiben' : 'bleibt'} im Speicher.`;
      if (stay === 0) return `${whose} wird im Speicher bleiben.`;
      return `${whose} ${stay === 1 ? 'wird im Speicher bleiben und ist' : 'werden im Speicher bleiben und sind'} unterwegs.`;
    },
    turns: (layers, parts, amount) => {
      const what = layers > 0 ? layersDe(layers) : `${parts} ${parts === 1 ? 'Teil' : 'Teile'}`;
      const one = (layers > 0 ? layers : parts) === 1;
      return `${what} ${one ? 'kommt und geht' : 'wechseln sich ab'}: ${amount} werden für jedes Token neu gelesen.`;
    },
    stillComing: 'Der Rest des Modells wird noch geholt.',
    kinds: {
      layer: 'Schicht',
      embedding: 'Einbettung',
      head: 'Kopf',
      table: 'Rest der Einbettung',
    },
    partOf: (name, part, parts) => `${name}, Teil ${part} von ${parts}`,
    states: {
      absent: 'noch nicht hier',
      arriving: 'kommt an',
      resident: 'im Speicher',
      computing: 'rechnet gerade',
    },
    notNow: 'gerade nicht hier',
    again: 'für jedes Token neu gelesen',
    legend: {
      absent: 'Kommt noch',
      arriving: 'Kommt an',
      resident: 'Im Speicher',
      again: 'Neu gelesen',
      computing: 'Rechnet',
    },
    network: 'Netz',
    device: 'Dieses Gerät',
    ready: 'Schichten hier',
    readAgain: 'Neu gelesen',
    waited: 'Gewartet',
    limit: 'Grenze',
  },

  notices: {
    offer: (host) => `Dieser Link verlangt ein Modell von ${host}`,
    unasked:
      'Dieser Server wurde noch nach nichts gefragt. Er erfährt deine Adresse, wenn du es dir ansiehst.',
    partHere: (amount, host) =>
      `${amount} sind schon auf diesem Gerät. Weiter heißt: ${host} wird nach dem Rest gefragt.`,
    asking: 'Der Server wird danach gefragt …',
    found: (name, parameters, size) => `${name}: ${parameters} Parameter, ${size} zu holen.`,
    goOn: 'Weiter',
    look: 'Das Modell ansehen',
    lookAgain: 'Noch einmal ansehen',
    no: 'Nein, beim jetzigen Modell bleiben',
    close: 'Schließen',
    tryAgain: 'Noch einmal versuchen',
    withoutLimit: 'Ohne die Grenze laden',
    withoutKeeping: 'Laden, ohne es zu behalten',
    removeModels: 'Modelle entfernen',
    alsoFailed: (name) => `Auch ${name} konnte nicht geladen werden.`,
    ignored: 'Teile dieses Links wurden ausgelassen',
  },
};

export const model = { en, de };
