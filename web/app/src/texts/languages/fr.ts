// French. (Before : ; ? ! and within « » stands a space that breaks no line.)
import type { TraceFileCode } from '../../inside/trace-file';
import type { Advice } from '../en/errors';
import type { Expected, TransferCode } from '../../history/checks';
import type { Params } from '../en/transfer';
import { bytes, count, digits, tokens } from '../format';
import { pluralsOf } from '../plural';
import type { Texts } from '../texts';

const plural = pluralsOf('fr');

const errors: Advice = {
  bad_file: {
    title: 'Ce fichier ne peut pas être lu comme un modèle',
    advice:
      'Choisissez un fichier dont le nom se termine par .gguf. Si c’est le cas, il est abîmé : téléchargez-le de nouveau.',
  },
  unsupported_model: {
    title: 'Ce genre de modèle n’est pas encore pris en charge',
    advice: 'Prenez un modèle d’une famille courante, comme Llama, Qwen3 ou Gemma 3.',
  },
  unsupported_type: {
    title: 'Ce fichier du modèle ne peut pas encore être calculé ici',
    advice:
      'Prenez un autre fichier du même modèle : un fichier dont le nom contient Q4_K_M, Q4_0 ou Q8_0.',
  },
  out_of_memory: {
    title: 'Le modèle ne tient pas dans la mémoire de ce navigateur',
    advice: 'Fermez d’autres onglets, ou prenez un modèle plus petit.',
  },
  budget_too_small: {
    title: 'Le modèle a besoin de plus de mémoire qu’il n’en a le droit',
    advice: 'Donnez-lui-en plus dans Réglages, Mémoire, ou prenez un modèle plus petit.',
  },
  download_failed: {
    title: 'Le modèle n’a pas pu être téléchargé',
    advice: '',
    otherwise: 'Réessayez, ou prenez un autre modèle.',
  },
  download_corrupt: {
    title: 'Ce qui est arrivé n’est pas le fichier promis',
    advice:
      'Rien n’en a été gardé. Réessayez ; si cela se répète, le fichier est abîmé sur le serveur.',
  },
  offline: {
    title: 'Vous êtes peut-être hors ligne',
    advice:
      'Connectez cet appareil et réessayez : ce qui est arrivé est gardé. Sans réseau, vous pouvez continuer vos conversations, avec les modèles de cet appareil ou avec un fichier de modèle à vous.',
  },
  storage_full: {
    title: 'Il n’y a pas de place pour garder le modèle sur cet appareil',
    advice:
      'Supprimez des modèles dont vous n’avez pas besoin, ou chargez celui-ci sans le garder : il faudra alors le télécharger de nouveau à la prochaine visite.',
  },
  context_full: {
    title: 'Le texte est plus long que ce que le modèle peut lire',
    advice: 'Raccourcissez-le, ou ouvrez un modèle dont le contexte est plus long.',
  },
  invalid_argument: {
    title: 'Cela ne peut pas servir tel quel',
    advice: '',
    otherwise:
      'Changez ce que vous avez saisi en dernier, ou remettez les réglages comme ils étaient.',
  },
  not_found: {
    title: 'Il n’est plus sur cet appareil',
    advice: '',
    otherwise: 'Chargez-le de nouveau depuis sa source.',
  },
  closed: { title: 'Le modèle a été fermé', advice: 'Chargez-le de nouveau.' },
  busy: {
    title: 'Le modèle écrit encore',
    advice: '',
    otherwise: 'Attendez qu’il ait fini, ou arrêtez-le.',
  },
  worker_died: {
    title: 'Le moteur s’est arrêté sans prévenir',
    advice: 'Chargez de nouveau le modèle ; si la mémoire manque, fermez d’abord d’autres onglets.',
  },
  unsupported_browser: {
    title: 'Le moteur ne marche pas dans ce navigateur',
    advice: '',
    otherwise: 'Utilisez une version récente de Chrome, Edge, Firefox ou Safari.',
  },
  unsupported_environment: {
    title: 'Le moteur ne marche pas dans cette page',
    advice: '',
    otherwise:
      'C’est au propriétaire de la page d’y remédier ; les détails techniques disent comment.',
  },
  aborted: { title: 'Arrêté', advice: '', otherwise: 'Réessayez.' },
};

const expectedWords: Record<Expected, string> = {
  object: 'un objet',
  list: 'une liste',
  text: 'un texte',
  textOrNull: 'un texte ou null',
  id: 'un identifiant comme 0b8f3c1e-5a4d-4c6b-9e2f-7d1a3b5c9e0f',
  idOrNull: 'un identifiant ou null',
  sameId: 'l’identifiant sous lequel se trouve le message',
  role: 'user, assistant ou tool',
  finish: 'stop, length, aborted, error ou null',
  figures: 'les chiffres d’une réponse ou null',
  flag: 'true ou false',
  time: 'une heure en millisecondes depuis 1970',
  count: 'un nombre entier à partir de 0',
};

const transferWords: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `Le fichier dépasse ${Math.round(limit / 2 ** 20)} Mio.`,
  json: () => 'Le fichier n’est pas du JSON.',
  format: () =>
    'Le fichier ne contient pas de conversations : ni celles de Sluice, ni une liste de messages.',
  version: (place) => `${place} : ce fichier vient d’une version plus récente de cette page.`,
  empty: () => 'Le fichier ne contient aucun message.',
  type: (place, { expected = 'object' }) =>
    `${place} : ${expectedWords[expected]} est attendu ici.`,
  long: (place, { limit = 0 }) => `${place} : le texte a plus de ${limit} caractères.`,
  many: (place, { limit = 0 }) => `${place || 'Le fichier'} : il y a plus de ${limit} entrées.`,
  parent: (place) => `${place} : ce message n’est pas dans la conversation, ou pas à cet endroit.`,
  cycle: (place) => `${place} : ce message est une réponse à lui-même.`,
  twice: (place) => `${place} : cet identifiant existe deux fois.`,
};

const passages = (n: number): string =>
  `${count(n)} ${plural(n, { one: 'passage', other: 'passages' })}`;
const layersOf = (n: number): string =>
  `${count(n)} ${plural(n, { one: 'couche', other: 'couches' })}`;

const traceFileWords: Record<TraceFileCode, (line: number, field: string) => string> = {
  size: () => 'Le fichier dépasse 256 Mio.',
  empty: () => 'Le fichier est vide.',
  json: (line) => `La ligne ${count(line)} n’est pas un objet JSON. Le fichier est endommagé.`,
  first: () =>
    'Ce n’est pas un enregistrement : ni un fichier que cette page a sauvé, ni un de « sluice run --trace ».',
  version: () => 'Une version plus récente de Sluice a écrit cet enregistrement.',
  long: (line, field) =>
    `La ligne ${count(line)} est trop longue${field === '' ? '' : `, à ${field}`}. Le fichier est endommagé.`,
  many: (line) => `La ligne ${count(line)} contient plus que cette page ne peut montrer.`,
  field: (line, field) =>
    `À la ligne ${count(line)}, ${field} manque ou ne peut pas être juste. Le fichier est endommagé.`,
  after: (line) => `La ligne ${count(line)} suit la fin du texte. Le fichier est endommagé.`,
  unread: () => 'Le fichier n’a pas pu être lu. Est-il toujours là ?',
};

export const texts: Texts = {
  units: {
    bytes: ['o', 'Ko', 'Mo', 'Go', 'To'],
    millions: 'long',
    tokens: (n, written) => `${written} ${plural(n, { one: 'token', other: 'tokens' })}`,
    rate: (written) => `${written} tokens/s`,
    of: (part, whole) => `${part} sur ${whole}`,
    left: (time) => `encore ${time}`,
    waitingForLayers: 'attend des couches',
    on: (date) => `le ${date}`,
  },

  page: {
    close: 'Fermer',
    copied: 'Copié',
    notCopied: 'Le navigateur ne laisse pas cette page copier',
    tagline: 'Une IA qui discute sur votre appareil',
    title: 'Sluice : une IA qui discute sur votre appareil',
    named: (name, said) => `${name} : ${said}`,
    views: 'Vue',
    talk: 'Discuter',
    write: 'Écrire',
    find: 'Trouver',
    settings: 'Réglages',
    conversations: 'Conversations',
    newConversation: 'Nouvelle conversation',
    shortcuts: 'Raccourcis clavier',
    keys: { control: 'Ctrl', shift: 'Maj', enter: 'Entrée' },
    drop: 'Déposez un fichier de modèle pour l’ouvrir',
    dropAny: 'Déposez un fichier de modèle pour l’ouvrir, ou un fichier texte pour le joindre',
    dropFind: 'Déposez des fichiers texte pour y chercher, ou un fichier de modèle pour l’ouvrir',
    skip: 'Aller au champ',
    partMissing: 'Cette partie de la page n’a pas pu être téléchargée.',
    fetchPart: 'Réessayer',
    ignored: {
      longPrompt: (most) => `seuls ses ${count(most)} premiers caractères ont été pris`,
      address: 'pas une adresse http, https ou hf',
      view: 'ni write, ni talk, ni find',
    },
    severalModels:
      'ces fichiers sont plusieurs modèles ; choisissez un seul fichier, ou toutes les parties d’un modèle découpé',
  },

  list: {
    untitled: 'Nouvelle conversation',
    found: (n) =>
      n === 0
        ? 'Rien trouvé'
        : plural(n, {
            one: `${count(n)} conversation trouvée`,
            other: `${count(n)} conversations trouvées`,
          }),
    removed: (title) => `${title} est effacée`,
    search: 'Chercher',
    searching: 'Cherche',
    showMore: (n) => `En montrer plus (encore ${count(n)})`,
    none: 'Les conversations sont gardées sur cet appareil, et nulle part ailleurs.',
    more: (title) => `Plus pour ${title}`,
    allMore: 'Plus',
    rename: 'Renommer',
    renameField: 'Titre de la conversation',
    save: 'Enregistrer',
    removeQuestion: (title) => `Effacer « ${title} » ?`,
    removeAll: 'Tout effacer',
    removeAllQuestion: (n) =>
      `Effacer ${plural(n, { one: 'la conversation', other: `les ${count(n)} conversations` })} ? Rien ne la ramènera.`,
    keep: 'Garder',
    exportAll: 'Tout enregistrer en JSON',
    importJson: 'Importer',
    today: 'Aujourd’hui',
    yesterday: 'Hier',
    week: '7 derniers jours',
    older: 'Avant',
    fold: 'Cacher la liste des conversations',
    remove: 'Effacer',
    deleted: 'Effacée.',
    undo: 'Annuler',
    takenBack: 'La conversation est revenue',
  },

  footer: {
    use: 'Utiliser ceci dans votre page',
    packs: 'dans le code source fabrique le paquet ; aucun outil d’assemblage n’est nécessaire.',
    cors: 'Pour un modèle d’un autre site, il faut l’autorisation de ce site (CORS).',
    snippet: 'HTML d’une page qui écrit',
    newer: 'Passer à la nouvelle version de cette page',
    later: 'La nouvelle version vient quand les autres onglets de cette page sont fermés',
    source: 'Code source',
    licence: 'Licence : Apache-2.0',
    notice: 'Ce que cette page contient, et ses licences',
  },

  talk: {
    heading: 'Conversation',
    greeting: 'Que voulez-vous savoir ?',
    greetingNote:
      'Une IA qui discute dans cette page, sur votre appareil. Rien de ce que vous écrivez n’en sort.',
    suggestionsLabel: 'Premières questions',
    suggestions: [
      'Explique en trois phrases pourquoi le ciel est bleu',
      'Écris un court message d’anniversaire, bien gentil',
      'Donne-moi cinq idées pour un dimanche de pluie',
      'Quelle est la différence entre le temps et le climat ?',
    ],
    first: {
      label: 'Convient à cet appareil',
      others: 'Autres',
      coming: 'En route',
      paused: 'Votre téléchargement est en pause',
      typeMeanwhile: 'Vous pouvez déjà écrire votre premier message.',
      here: (name) =>
        `${name} est là. Il continue un texte que vous commencez, mais il ne tient pas de conversation.`,
      finds: (name) => `${name}, qui est déjà là, trouve des passages dans des fichiers.`,
      fills: (name) => `${name}, qui est déjà là, remplit les mots masqués.`,
      findWith: (name) => `Trouver avec ${name}`,
      writeWith: (name) => `Écrire avec ${name}`,
      story: 'Sluice Stories, qui est déjà là, ne raconte que des histoires.',
      tellStory: 'Lui faire raconter une histoire',
    },
    field: 'Message',
    placeholder: 'Écrivez un message',
    send: 'Envoyer',
    attach: 'Joindre un fichier texte',
    system: 'Consigne',
    chooseModel: 'Choisir un modèle',
  },

  talkRoom: {
    you: 'Vous',
    model: 'Modèle',
    stop: 'Arrêter',
    stopped: 'Arrêté',
    removeAttachment: (name) => `Retirer ${name}`,
    attached: (name, n) =>
      `${name}, ${count(n)} ${plural(n, { one: 'caractère', other: 'caractères' })}`,
    attaching: (name) => `Lecture de ${name}`,
    editing:
      'Vous modifiez un message. Les réponses qui le suivaient restent, sur une branche à part.',
    cancelEdit: 'Annuler',
    edit: 'Modifier et continuer d’ici',
    retry: 'Une autre réponse',
    xray: 'Cette réponse aux rayons X',
    answer: 'Répondre',
    copyAll: 'Tout copier',
    all: 'Plus pour cette conversation',
    copyMessage: 'Copier ce message',
    previous: 'Branche précédente',
    next: 'Branche suivante',
    branch: (at, of) => `${at} sur ${of}`,
    thinking: 'Réfléchit',
    thought: (time) => `A réfléchi ${time}`,
    thoughts: 'Réflexions',
    tool: 'Résultat d’un outil',
    waitsForModel: 'Attend le modèle',
    reads: 'Lit',
    readsFacts: (facts) => `Lit : ${facts}`,
    elsewhere: 'Une autre conversation reçoit sa réponse.',
    showIt: 'La montrer',
    writes: (n, rate) => (rate > 0 ? `${tokens(n)} · ${digits(rate)} tokens/s` : tokens(n)),
    cut: 'Arrêté',
    length: 'Arrêté à la longueur réglée, ou à la fin du contexte',
    failed: 'Cette réponse s’est terminée par une erreur',
    lost: 'La page a été fermée pendant que ceci s’écrivait',
    dropped: (n) =>
      plural(n, {
        one: 'Le message le plus ancien n’était pas dans le contexte de cette réponse, qui était plein',
        other: `Les ${count(n)} messages les plus anciens n’étaient pas dans le contexte de cette réponse, qui était plein`,
      }),
    context: (used, all) => `${count(used)} sur ${tokens(all)}`,
    contextLabel: 'Tokens de cette conversation, sur ceux que le contexte contient',
    toTheEnd: 'Vers la fin',
    systemNote:
      'Comment le modèle doit répondre dans cette conversation. Vaut à partir de la prochaine réponse.',
    noModel: 'Aucun modèle n’est chargé.',
    nearlyFull:
      'Le contexte est presque plein. Les messages les plus anciens manqueront aux prochaines réponses.',
    counting: 'Le message est en train d’être compté.',
    messageTooLong: (over, context) =>
      `Ce message dépasse de ${tokens(over)} le contexte de ${tokens(context)}.`,
    outgrown: (over) =>
      `La conversation dépasse le contexte de ${tokens(over)}. Ses messages les plus anciens seront laissés de côté.`,
    shorten: 'Raccourcissez-le, ou coupez-le en plusieurs parties.',
    removeFile: 'Retirez un fichier, ou raccourcissez le message.',
    largerContext: (context, more) =>
      `Prendre un contexte de ${count(context)} (${bytes(more)} de mémoire en plus)`,
    pasted: 'Texte collé',
    pastedAsFile: 'Le long texte est joint au message',
    pastedBack: 'Dans le champ',
    pastedBackLabel: (name) => `Mettre ${name} dans le champ`,
    noChatModel: 'Pas de modèle de discussion.',
    goOn: 'Continuer',
    unread: {
      tooLong: (name) => `${name} dépasse 1 Mo, plus que ce qu’une conversation peut contenir.`,
      lost: (name) => `${name} n’a pas pu être lu. Le fichier existe-t-il encore ?`,
      pdf: (name) => `${name} est un PDF. Sluice ne sait pas encore en lire.`,
      picture: (name) => `${name} est une image. Sluice ne sait pas encore en lire.`,
      office: (name) => `${name} est un document bureautique. Sluice ne sait pas encore en lire.`,
      archive: (name) => `${name} est une archive. Sluice ne sait pas encore en lire.`,
      sound: (name) => `${name} est un son. Sluice ne sait pas encore en lire.`,
      film: (name) => `${name} est un film. Sluice ne sait pas encore en lire.`,
      model: (name) => `${name} est un modèle. Appuyez sur le nom du modèle actuel pour l’ouvrir.`,
      weights: (name) =>
        `${name} est un modèle sous une forme que la page ne peut pas lire. Cherchez-en un fichier dont le nom se termine par .gguf, ou faites-en un avec le programme (sluice convert).`,
      other: (name) => `${name} n’est pas un fichier texte, et Sluice ne peut pas le lire.`,
    },
    savedPrompts: 'Consignes enregistrées',
    promptName: 'Nom pour l’enregistrer',
    savePrompt: 'Enregistrer',
    promptSaved: (name) => `${name} est enregistrée sur cet appareil`,
    removePrompt: (name) => `Effacer la consigne ${name}`,
    waitsFor: (name) => `Attend ${name}`,
    waitsPaused: 'Attend que le téléchargement reprenne',
    unanswered: 'Personne n’y a encore répondu.',
    onlyStories: (name) =>
      `${name} ne raconte que des histoires. Il ne peut pas répondre à des questions.`,
    couldAnswer: (name) => `${name} le peut, et convient à cet appareil.`,
    answerWith: (name) => `Répondre avec ${name}`,
    answerWhenHere: (name) => `Répondre avec ${name} quand il sera là`,
    goOnAndAnswer: (name) => `Reprendre le téléchargement de ${name}, puis répondre`,
    tellStory: (name) => `Faire raconter une histoire à ${name}`,
    writtenWith: (name) => `Écrit avec ${name}.`,
    writtenWithOther: (file) =>
      `Écrit avec un fichier antérieur, ou avec un autre du nom de ${file}.`,
    loadIt: 'Le charger',
    findIt: (file) => `Choisir de nouveau ${file}`,
    loadFrom: (host) => `Le charger depuis ${host}`,
    goOnWith: (name) => `Continuer avec ${name}`,
  },

  settings: {
    title: 'Réglages',
    notANumber: (min, max) => `pas un nombre de ${min} à ${max}`,
    notOneOf: (choices) => `aucun de ${choices.join(', ')}`,
    notStops: 'pas une liste de textes d’arrêt',
  },

  settingsRoom: {
    automatic: 'automatique',
    backTo: (value) => `Revenir à ${value}`,
    backToDefaults: 'Tout remettre par défaut',
    answers: 'Réponses',
    texts: 'Textes',
    presets: 'Comment il choisit ses mots',
    presetHint: {
      precise: 'S’en tient aux mots les plus probables : pour les faits, le code et les résumés.',
      balanced: 'Un peu de liberté, sans perdre le fil. Le choix par défaut.',
      wild: 'Prend aussi des mots improbables : pour les idées et les surprises.',
      own: 'Comme vous le réglez sous « Tous les réglages ».',
    },
    samplers: 'Tous les réglages',
    samplersHint:
      'À chaque pas, le modèle pèse tous les tokens. Ceci dit lesquels il a le droit de prendre.',
    default: 'La marque est la valeur par défaut.',
    modelDefault:
      'La marque est la valeur par défaut ; le fichier de ce modèle a pour cela ses propres valeurs.',
    penalties: 'Contre les répétitions',
    sampler: {
      temperature: {
        label: 'Température',
        hint: 'Plus haut, plus audacieux ; 0 prend toujours le token le plus probable.',
      },
      topP: {
        label: 'Top-p',
        hint: 'Seulement les plus probables qui font ensemble cette part ; 1 pour tous.',
      },
      topK: { label: 'Top-k', hint: 'Seulement autant des plus probables ; 0 pour tous.' },
      minP: {
        label: 'Min-p',
        hint: 'Écarte ce qui est moins probable que cette part du plus probable ; 0 n’écarte rien.',
      },
      repeatPenalty: {
        label: 'Pénalité de répétition',
        hint: 'Au-dessus de 1, les derniers tokens deviennent moins probables, ce qui aide contre un texte qui tourne en rond.',
      },
      repeatLastN: {
        label: 'Portée',
        hint: 'La pénalité de répétition regarde autant de tokens en arrière, ceux du début aussi ; 0 pour aucun.',
      },
      presencePenalty: {
        label: 'Pénalité de présence',
        hint: 'Rend un token moins probable dès qu’il a été écrit.',
      },
      frequencyPenalty: {
        label: 'Pénalité de fréquence',
        hint: 'Rend un token d’autant moins probable qu’il a été écrit souvent.',
      },
    },
    extent: 'Longueur et fin',
    length: 'Longueur',
    lengthHint: (tokens) =>
      `Le plus de tokens ; chacun vaut environ trois quarts d’un mot. Vide : ${tokens} pour un texte, et une réponse va jusqu’à sa fin.`,
    seed: 'Graine',
    seedHint: 'La même graine donne le même texte. Vide : une nouvelle à chaque fois.',
    random: 'au hasard',
    stops: 'Textes d’arrêt',
    stopsHint: (most) =>
      `Le texte s’arrête avant chacun d’eux ; ${most} au plus. \\n est une nouvelle ligne, \\t une tabulation.`,
    stop: (n) => `Texte d’arrêt ${n}`,
    addStop: 'Ajouter un texte d’arrêt',
    removeStop: (n) => `Retirer le texte d’arrêt ${n}`,
    wrongStop: (most) => `Ne compte pas : ${count(most)} caractères au plus`,
    reasoning: 'Réflexion',
    reasoningName: { auto: 'Automatique', on: 'Oui', off: 'Non' },
    reasoningHint: {
      auto: 'Comme le modèle le fait de lui-même.',
      on: 'Réfléchit avant de répondre, si le modèle le peut : plus lent, et souvent meilleur.',
      off: 'Répond tout de suite, si le modèle le permet.',
    },
    reasoningBudget: 'Tokens pour réfléchir',
    reasoningBudgetHint: 'Après autant, il doit répondre. Vide : autant qu’il veut.',
    unlimited: 'sans limite',
    model: 'Modèle',
    modelHint: 'Ceci compte quand un modèle est chargé.',
    context: 'Contexte',
    contextHint:
      'Le modèle voit autant de tokens de la conversation. Vide : les siens, jusqu’à 4 096.',
    contextIs: (tokens) => `automatique : ${tokens}`,
    contextMemory: (tokens, size) =>
      `${tokens} prennent environ ${size} de mémoire quand ils sont pleins.`,
    contextUnknown: 'Ce qu’il prend est dit quand un modèle est chargé.',
    contextAbove: (tokens) =>
      `Le modèle a été entraîné avec ${tokens} : au-delà, il perd peut-être le fil.`,
    kvType: 'Mémoire du contexte',
    kvTypeName: { f16: 'Normale', q8_0: 'Moitié', f32: 'Double' },
    kvTypeHint: {
      f16: 'Le choix par défaut. Aucune différence à la lecture.',
      q8_0: 'De la place pour presque deux fois plus de contexte. Quelques mots peuvent changer.',
      f32: 'Exact jusqu’au dernier chiffre. Presque jamais nécessaire.',
    },
    threads: 'Threads',
    threadsHint:
      'Plus il y en a, plus c’est rapide, jusqu’au nombre de cœurs du processeur. Pour écrire, il en prend moins si c’est plus rapide.',
    oneThread: 'un',
    oneThreadHint:
      'Cette page ne peut utiliser qu’un thread. « Pourquoi pas plus vite ? » sous un texte en dit plus.',
    memory: 'Mémoire (Mo)',
    memoryHint:
      'Au plus pour un modèle. Ce qui n’y tient pas est relu pour chaque mot, ce qui est plus lent.',
    staleHint: 'Le modèle a été chargé avec d’autres réglages.',
    loadAgain: 'Recharger le modèle',
    loadingHint: 'Le modèle se charge avec ces réglages.',
    loadedHint: 'Le modèle est chargé avec ces réglages.',
    noModel: 'Aucun modèle n’est chargé.',
    page: 'Page',
    language: 'Langue',
    theme: 'Couleurs',
    view: 'Vue',
    auto: 'Automatique',
    themeName: { light: 'Clair', dark: 'Sombre' },
    viewName: { talk: 'Conversation', write: 'Écriture', find: 'Trouver' },
    viewHint: 'Automatique : une conversation, sauf si un lien apporte un texte.',
    outOfRange: (min, max) => `Un nombre entier de ${min} à ${max}`,
    wrongMemory: (min, max) => `Ne compte pas : un nombre entier de Mo de ${min} à ${max}, ou rien`,
    speed: 'Le dernier texte',
    writing: 'Écriture',
    firstToken: 'Premier token',
    prompt: 'Début',
    promptTokens: 'Tokens du début',
    reused: (total, reused) => `${total}, dont ${reused} déjà connus`,
    written: 'Écrit',
    reasoned: (total, reasoned) => `${total}, dont ${reasoned} de réflexion`,
    reread: 'Relu',
    waited: 'Attente des poids',
    engine: 'Le moteur',
    flavour: 'Variante',
    flavourWhy: {
      relaxed: 'La plus rapide : ce navigateur a les instructions SIMD assouplies (relaxed SIMD).',
      simd: 'Ce navigateur a des instructions SIMD, mais pas les assouplies, qui multiplient plus vite.',
      threads: 'Elle peut partager la mémoire, donc plusieurs threads calculent.',
      noThreads: 'Les threads ne peuvent pas partager la mémoire ici, donc un seul calcule.',
    },
    kernels: 'Noyaux de calcul',
    kernelsWhy: 'Les boucles les plus internes, choisies pour ces instructions.',
    threadsWhy: {
      one: 'Voyez la remarque plus bas.',
      chosen: 'Comme fixé dans les réglages.',
      automatic: (cores) => `Cet appareil a ${cores} ; huit au plus sont utilisés.`,
    },
    cores: (n) => `${n} ${plural(n, { one: 'cœur', other: 'cœurs' })}`,
    decodeThreads: 'Pour écrire',
    decodeThreadsWhy: {
      fewer: 'Mesuré : ce modèle écrit plus vite avec moins de threads que pour lire un texte.',
      all: 'C’est avec tous qu’il écrit le plus vite.',
      chosen: 'Le nombre est fixé, donc tous écrivent.',
    },
    memoryUsed: 'En mémoire',
    memoryWhy: 'Les poids qui sont arrivés, et les clés et valeurs du contexte.',
    limit: 'Limite',
    contextSize: 'Contexte',
    notes: 'Remarques',
    isolation: {
      title: 'Un seul thread.',
      noSharing:
        'Ce navigateur n’a pas de mémoire que des threads pourraient partager. Le texte est le même, mais plus lent. D’autres navigateurs utilisent tous les processeurs.',
      notIsolated:
        'Cette page n’est pas isolée des autres origines (cross-origin isolated), et le navigateur ne lui donne donc pas de mémoire que des threads pourraient partager. Le texte est le même, mais plus lent. Pour changer cela, son serveur doit envoyer les en-têtes',
      and: 'et',
    },
    keys: {
      send: 'Envoyer le message',
      write: 'Écrire le texte',
      find: 'Trouver des passages',
      hits: 'D’un passage à l’autre',
      line: 'Une nouvelle ligne dans le message',
      stop: 'Arrêter',
      new: 'Nouvelle conversation',
      search: 'Chercher dans les conversations',
      edit: 'Modifier le dernier message (dans un champ vide)',
      field: 'Aller au champ',
      xray: 'Le texte, ou la dernière réponse, aux rayons X',
      steps: 'Dans les rayons X : token par token',
      play: 'Dans les rayons X : lire, pause',
      space: 'Espace',
      model: 'Modèles',
      settings: 'Réglages',
      list: 'Cette liste',
    },
  },

  figures: {
    summary: (preset, length, seed, memory) =>
      [
        preset,
        length,
        ...(seed === null ? [] : [`graine ${seed}`]),
        ...(memory === null ? [] : [`mémoire jusqu’à ${memory} Mo`]),
      ].join(', '),
    upTo: (tokens) => `jusqu’à ${tokens}`,
    untilItEnds: 'jusqu’à la fin de la réponse',
    preset: { precise: 'Précis', balanced: 'Équilibré', wild: 'Fantasque', own: 'Personnel' },
    figures: 'Chiffres',
    details: 'Détails',
    perSecond: (rate) => `${rate} tokens/s`,
    firstTokenAfter: (time) => `premier mot après ${time}`,
    whyOneThread: 'Pourquoi pas plus vite ?',
    detailsTitle: 'À quelle vitesse, et pourquoi',
  },

  model: {
    errors,
    chip: {
      label: 'Modèle',
      none: 'Choisir un modèle',
      inUse: (name) => `Modèle : ${name}`,
      coming: (name) => `${name} est en route`,
      paused: (name) => `${name} est en pause`,
    },
    shelf: {
      about: (size) => `environ ${size}`,
      takes: (time) => `environ ${time} de téléchargement`,
      here: (size) => `sur cet appareil (${size})`,
      tooLarge: 'trop grand pour cet appareil, lent',
      licence: (name) => `Licence : ${name}`,
      terms: 'Lire les conditions',
      start: 'Démarrer',
      download: (size) => `Télécharger (${size})`,
      downloadAndStart: (size) => `Télécharger et démarrer (${size})`,
      accept: (size) => `Accepter et télécharger (${size})`,
    },
    sheet: {
      title: 'Modèle',
    },
    speed: {
      about: (rate) => `environ ${rate}`,
      between: (least, most) => `${least} à ${most}`,
      slowShort: 'lent',
    },
    said: {
      cancelled: 'Le chargement est annulé',
      paused: 'En pause',
      loading: (name) => `Charge ${name}`,
      rest: (name) => `${name} peut servir ; le reste se télécharge encore`,
      ready: (name) => `${name} est prêt`,
    },
    notices: {
      close: 'Fermer',
      tryAgain: 'Réessayer',
      offline: 'Vous êtes hors ligne',
      ignored: 'Des parties de ce lien ont été laissées de côté',
    },
  },

  loads: {
    load: {
      loading: (name) => `Charge ${name}`,
      again: (name) => `Recharge : ${name}`,
      restReady: (name) => `Prêt ; le reste de ${name} se télécharge encore`,
      restWaits: (name) => `L’écriture attend le reste de ${name}`,
      takesOver: (name) => `${name} est prêt, et prend le relais quand ce texte est écrit`,
      paused: (name) => `En pause : ${name}`,
      header: 'Lit le début du fichier',
      checking: 'vérifie que c’est le bon fichier',
      waits: 'attend ; reprend tout seul',
      waitsBrief: 'attend',
      offline: 'vous êtes hors ligne ; reprend tout seul',
      otherTab: 'un autre onglet le télécharge',
      serverBusy: 'le serveur ne peut pas servir maintenant ; reprend tout seul',
      fromDevice: 'depuis cet appareil',
      wereHere: (amount) => `${amount} étaient là`,
      pause: 'Pause',
      cancel: 'Annuler',
      goOn: 'Reprendre',
      discard: 'Jeter',
      discardIt: (amount) => `Jeter les ${amount} déjà arrivés ?`,
      nothingKept: 'Rien n’a pu en être gardé : il repartira de zéro.',
      partKept: (amount) => `${amount} sont sur cet appareil.`,
      anotherDay: 'Vous pouvez fermer cet onglet, et reprendre un autre jour.',
      stays: (name) => `D’ici là, vous pouvez continuer avec ${name}.`,
    },
    kept: {
      keepIt: 'Le garder',
      busyComing: 'Il est en train d’arriver ici. Mettez-le d’abord en pause, ou annulez.',
      busyUsed:
        'Il est utilisé ici ou dans un autre onglet. Ouvrez d’abord un autre modèle, ou fermez cet onglet.',
    },
    said: {
      removed: (name) => `${name} est supprimé`,
      free: (amount) => `${amount} sont de nouveau libres`,
      pinned: (name) => `${name} est toujours gardé`,
      unpinned: (name) => `${name} est gardé tant qu’il y a de la place`,
    },
  },

  models: {
    another: {
      nameless: 'Un modèle sans nom',
      download: (amount) => `Télécharger (${amount})`,
    },
    memory: {
      takes: (total) => `Il prend jusqu’à ${total} de mémoire.`,
      tooMuch: (all, total, again) =>
        `Il prendrait jusqu’à ${all} de mémoire, plus que ce qu’il peut prendre ici. Il reste donc sous ${total}, ` +
        `et ${again} sont relus sur cet appareil pour chaque mot. C’est plus lent : tout dépend de la vitesse de lecture de cet appareil.`,
    },
    notices: {
      offer: (host) => `Ce lien demande un modèle de ${host}`,
      unasked:
        'Rien n’a encore été demandé à ce serveur. Une fois interrogé, il connaît votre adresse IP.',
      asking: 'Demande au serveur ce que c’est…',
      found: (name, parameters, size) =>
        `${name} : ${size} à télécharger, paramètres : ${parameters}.`,
      look: 'Montrer ce que c’est',
      askAgain: 'Redemander',
      no: 'Non, garder mon modèle',
      chooseFile: 'Choisir un autre fichier',
      openFile: 'Choisir un fichier de modèle',
      theFile: 'Choisir le fichier',
      openPage: 'Ouvrir sa page',
      download: 'Télécharger avec le navigateur',
      search: (host) => `Chercher sur ${host}`,
      onDevice: 'Modèles de cet appareil',
      others: 'Autres modèles',
      address: 'Changer l’adresse',
      withoutLimit: 'Charger sans la limite',
      withoutKeeping: 'Charger sans garder',
      removeModels: 'Supprimer des modèles',
      alsoFailed: (name) => `${name} n’a pas pu être chargé non plus.`,
      technical: 'Détails techniques',
    },
    speed: {
      reread: (rate) => `${rate}, relu sur cet appareil pour chaque mot`,
      slow: 'lent : est relu sur cet appareil pour chaque mot',
      fits: 'y tient',
      fitsPartly: 'n’y tient pas en entier',
    },
  },

  sheet: {
    shelf: {
      heading: 'Modèles au choix',
      more: 'Plus de modèles',
      inUse: 'Utilisé',
      token: 'Les vitesses sont en tokens : un token vaut environ trois quarts d’un mot.',
    },
    noneLoaded: 'Aucun n’est chargé',
    bundled:
      'Vient avec cette page. Il écrit de simples histoires pour enfants, en anglais, et ne sait rien d’autre.',
    file: 'Un fichier de cet appareil. Il est lu ici et n’est envoyé nulle part.',
    keptHere: 'De son serveur, et gardé sur cet appareil pour la prochaine fois.',
    notKept: 'De son serveur dans la mémoire de cette page. Il n’est pas gardé.',
    more: 'Plus sur ce modèle',
    layers: 'Couches',
    layersOf: (name) => `Couches de ${name}`,
    another: 'Un autre modèle',
    back: 'Revenir au modèle de cette page',
    facts: {
      parameters: 'Paramètres',
      size: 'Taille',
      memory: 'Mémoire',
      speed: 'Vitesse',
      architecture: 'Architecture',
      types: 'Types',
      layers: 'Couches',
      context: 'Contexte',
      vocabulary: 'Vocabulaire',
      licence: 'Licence',
      from: 'Source',
      upTo: (amount) => `jusqu’à ${amount}`,
      thisPage: 'cette page',
      fromFile: (name, others) =>
        `${name}${others === 0 ? '' : ` et ${plural(others, { one: `${others} autre`, other: `${others} autres` })}`}, cet appareil`,
    },
  },

  shelf: {
    goodFor: {
      'smollm2-135m': 'pour essayer ; répond tout de suite partout, sait peu',
      'gemma-3-270m': 'extraire, trier, de courtes consignes ; beaucoup de langues pour sa taille',
      'smollm2-360m': 'récrire et classer de courts textes en anglais, aussi sur un téléphone',
      'qwen3-0.6b': 'petites conversations en beaucoup de langues, avec ou sans réflexion',
      'qwen3.5-0.8b':
        'petites conversations en beaucoup de langues, avec ou sans réflexion ; les longs textes prennent peu de mémoire',
      'gemma-3-1b': 'des textes agréables en beaucoup de langues',
      'llama-3.2-1b': 'un petit modèle de conversation très répandu ; résumés',
      'qwen3.5-2b': 'des réponses réfléchies sur un portable ou un téléphone récent',
      'gemma-4-e2b':
        'conversations en beaucoup de langues sur un portable ; prend bien moins de mémoire que son fichier',
      'all-minilm-l6-v2': 'trouver des passages dans des textes en anglais ; petit et rapide',
      'embeddinggemma-300m': 'trouver des passages dans des textes en beaucoup de langues',
    },
    terms: {
      'https://ai.google.dev/gemma/terms':
        'L’utiliser, c’est accepter les conditions de Google, qui interdisent certains usages.',
      'https://www.llama.com/llama3_2/license/':
        'L’utiliser, c’est accepter la licence de Meta et ses règles d’usage. Built with Llama.',
      'https://www.liquid.ai/lfm-license':
        'L’utiliser, c’est accepter la licence de Liquid AI : au-delà de 10 millions de dollars de revenus par an, une organisation en a besoin d’une autre.',
    },
  },

  found: {
    codes: {
      out_of_memory: [
        'Pour {tokens} tokens, il faut {neededBytes} de plus, et il reste {availableBytes}.',
        'Il lui faut au moins {leastBytes}, et il y a au plus {availableBytes}.',
        'Il lui faut {neededBytes}, et il y a au plus {availableBytes}.',
        'Il n’y avait pas de mémoire pour {neededBytes} de plus.',
      ],
      budget_too_small: [
        'Il lui faut au moins {leastBytes}, et il peut prendre {availableBytes}.',
        'Il lui faut {neededBytes}, et il peut prendre {availableBytes}.',
      ],
      offline: ['{host} ne répond pas.'],
      storage_full: [
        'Il faut {neededBytes} de plus, et {availableBytes} sont libres.',
        'Il faut {neededBytes} de plus.',
      ],
      context_full: ['Il a {tokens} tokens ou plus, et il y a de la place pour {room}.'],
    },
    details: {
      unsupported_model: [
        'Il a un tenseur {tensor} qui n’est pas connu.',
        'Son découpage en tokens est « {tokenizer} ».',
        'Son {key} est {value}.',
        'Son architecture est « {architecture} ».',
      ],
      unsupported_type: ['{tensor} a le type {type}.', 'Un tenseur a le type {type}.'],
      download_corrupt: ['Son SHA-256 est {foundSha256}, et {expectedSha256} était attendu.'],
      worker_died: ['Le navigateur dit : {said}'],
      unsupported_browser: ['Il lui manque {missing}.'],
    },
    reasons: {
      simd: 'Il est trop ancien, ou quelque chose dont Sluice a besoin est désactivé. Utilisez Chrome ou Edge 91, Firefox 89, Safari 16.4 ou plus récent.',
      status: '{host} a répondu {status}. Réessayez plus tard, ou prenez une autre adresse.',
      missing: '{host} a répondu {status}. Ce fichier n’existe pas : vérifiez l’adresse.',
      denied:
        '{host} a répondu {status} : ce modèle n’existe pas, ou il faut y avoir un compte. Vérifiez l’adresse. Si elle est juste, ouvrez sa page, connectez-vous, acceptez ses conditions et téléchargez-y le fichier. Choisissez ensuite le fichier ici.',
      unreachable:
        '{host} n’a pas répondu, ou ne laisse pas d’autres sites lire le fichier. Vérifiez votre connexion et réessayez, ou téléchargez le fichier avec votre navigateur et choisissez-le ici.',
      redirect:
        '{host} renvoie là où le fichier ne peut pas être lu. Prenez l’adresse où cela aboutit.',
      insecure: 'Cette page ne peut lire que des adresses en https. Prenez-en une.',
      stalled: '{host} n’a rien envoyé pendant trop longtemps. Réessayez.',
      broken: 'La connexion avec {host} s’est coupée. Réessayez.',
      changed: 'Le fichier de {host} a changé pendant le téléchargement. Chargez-le de nouveau.',
      answer: '{host} a envoyé autre chose que ce qui était demandé. Prenez un autre serveur.',
    },
  },

  notes: {
    notes: {
      token_not_in_vocabulary:
        '{key} vaut {id}, et le vocabulaire a {tokens} tokens. Il est laissé de côté.',
      unknown_pre_tokenizer:
        'Le prédécoupage « {name} » n’est pas connu. Celui par défaut est utilisé, qui lit peut-être les textes un peu autrement.',
      no_pre_tokenizer:
        'Le fichier ne nomme pas de prédécoupage. Celui par défaut est utilisé, qui lit peut-être les textes un peu autrement.',
      merges_skipped:
        'Des fusions du vocabulaire nomment des tokens qu’il n’a pas. Elles sont sautées : {merges}.',
      special_tokens_too_long:
        'Des tokens spéciaux sont trop longs pour être cherchés dans les textes : {tokens}.',
      no_bos_token:
        'Le fichier veut un token avant chaque texte, et ne dit pas lequel. Aucun n’y est mis.',
      sampling_value_unusable:
        'Le fichier recommande {value} pour {key}, ce qui est hors limites. C’est laissé de côté.',
      context_beyond_training:
        'Le contexte de {contextSize} tokens dépasse les {trained} pour lesquels le modèle a été entraîné. Ce qu’il ' +
        'écrit au-delà n’a peut-être pas de sens.',
      fewer_threads:
        'Seuls {threads} threads sur {asked} ont pu démarrer. Cela marche, mais plus lentement.',
      no_chat_template:
        'Le fichier n’a pas de modèle de dialogue. Celui de {family} est utilisé, ce qui est une supposition.',
      tools_left_out:
        'Le modèle de dialogue intégré de {family} ne connaît pas d’outils. Ils sont laissés de côté.',
      content_parts_joined:
        'Le modèle de dialogue ne connaît pas de messages en parties. Les textes des parties sont réunis.',
      content_parts_unknown:
        'Le modèle de dialogue ne connaît pas de messages en parties. Ce que le modèle en reçoit n’a peut-être pas de sens pour lui.',
      unknown_role: 'Sluice ne connaît pas le rôle {role} d’un message : {token} reste du texte.',
      threads_need_https: 'Il y a un seul thread, car la page vient sans https.',
      threads_need_isolation:
        'Il y a un seul thread, car la page n’est pas isolée des autres origines (cross-origin isolated).',
      threads_need_shared_memory:
        'Il y a un seul thread, car ce navigateur n’a pas de mémoire que des threads pourraient partager.',
      threads_need_flavour: 'Il y a un seul thread, car cette variante du moteur n’en a pas plus.',
      weights_reread:
        'Le modèle a besoin de {neededBytes} de mémoire et en reçoit {availableBytes} ({limit}) : {rereadBytes} de ses poids ' +
        'sont relus pour chaque mot, et pour chaque partie d’une longue question.',
      model_not_kept: 'Le modèle n’est pas gardé sur cet appareil : {reason}.',
      state_not_kept:
        'L’état de cette conversation n’est pas gardé sur cet appareil : {reason}. Après un rechargement, il est recalculé.',
      sha256_unknown:
        'La liste des fichiers à son adresse n’a pas pu être lue, et on ne sait donc pas si le modèle est arrivé intact.',
    },
    reasons: {
      insecure: 'cette page vient sans https',
      unsupported: 'ce navigateur ne garde pas de fichiers pour les pages',
      refused:
        'le navigateur refuse, comme dans une fenêtre privée ou quand le stockage est bloqué',
      storage_full: 'il n’y a pas de place',
      in_use: 'un autre onglet l’utilise',
      newer: 'une version plus récente de cette page le garde',
      size: 'son serveur a annoncé une fausse taille',
      out_of_memory: 'une réponse avait besoin de sa mémoire',
      unreadable: 'son fichier ne peut pas être ouvert',
    },
    limits: {
      given: 'comme fixé dans Réglages, Mémoire',
      browser: 'le plus que ce navigateur donne à une page',
      device:
        'la moitié de la mémoire de cet appareil ; une autre limite se fixe dans Réglages, Mémoire',
    },
  },

  another: {
    choose: 'Choisir un fichier de modèle',
    orDrop: 'ou en déposer un n’importe où sur la page',
    address: 'Adresse',
    addressHint: 'Du fichier d’un modèle, ou d’une page qui en a.',
    placeholder: 'https://… ou compte/modèle',
    load: 'Télécharger',
    list: 'Montrer ses fichiers',
    wrong: {
      empty: 'Collez l’adresse du fichier d’un modèle, ou d’une page qui en a.',
      too_long: 'C’est trop long pour une adresse.',
      characters: 'Il y a là des caractères qu’aucune adresse n’a. Copiez-la de nouveau.',
      scheme: 'Seules des adresses qui commencent par https:// ou http:// peuvent être lues.',
      credentials:
        'Laissez de côté le nom d’utilisateur et le mot de passe : leur place n’est pas dans une adresse.',
      no_model:
        'Cette page ne parle d’aucun modèle. Ouvrez la page du modèle lui-même, et copiez son adresse.',
      no_address:
        'Ce n’est pas une adresse. Tapez compte/modèle, comme sur la page d’un modèle, ou collez un lien vers son fichier.',
    },
    asking: (host) => `Demande à ${host} ce qu’il y a…`,
    found: 'Ce qui a été trouvé',
    files: (name) => `Modèles de ${name}`,
    none: 'Il n’y a pas de modèle que cette page puisse ouvrir',
    noneAdvice:
      'Elle ouvre les fichiers dont le nom se termine par .gguf. Le même modèle les a souvent sur une page à part.',
    lookAt: (name) => `Voir ${name}`,
    search: (host, text) => `Chercher « ${text} » sur ${host}`,
    recommended: 'Recommandé pour cet appareil',
    parts: (parts) => `en ${parts} fichiers`,
    account: (host) => `Ce modèle n’existe pas sur ${host}, ou il faut y avoir un compte`,
    missing: (host) => `Ce modèle n’existe pas sur ${host}`,
    spelling: 'Vérifiez l’orthographe :',
    accountAdvice:
      'Si elle est juste, ouvrez sa page, connectez-vous, acceptez ses conditions et téléchargez-y le fichier. Choisissez ensuite le fichier ici.',
  },

  copy: {
    keep: (size) => `Garder une copie dans ce navigateur (${size})`,
    why: 'Avec une copie dans ce navigateur, il s’ouvre tout seul à votre prochaine visite.',
    noRoom: (size, room) =>
      `Une copie prendrait ${size}, et ce navigateur a de la place pour ${room}.`,
    copying: (amount) => `Copie : ${amount}`,
    cancel: 'Annuler',
    here: 'Une copie en est gardée dans ce navigateur.',
    kept: (name) => `Une copie de ${name} est gardée`,
    full: 'Ce navigateur n’a plus de place pour une copie. Supprimez un modèle gardé, et réessayez.',
    failed: 'La copie a échoué. Le fichier est-il encore là ?',
    isCopy: 'copie d’un fichier à vous',
  },

  kept: {
    title: 'Sur cet appareil',
    total: (amount) => `${amount} sont gardés.`,
    room: (amount) => `Il y a encore de la place pour ${amount}.`,
    none: 'Les modèles d’une adresse sont gardés ici, pour ne venir qu’une fois et marcher sans réseau.',
    never: 'Ce navigateur ne laisse pas la page garder des modèles.',
    remove: 'Supprimer',
    removeAll: 'Tout supprimer',
    removeAllQuestion:
      'Supprimer tous les modèles, sauf ceux qui servent et ceux toujours gardés ?',
    removeQuestion: (name) => `Supprimer ${name} ?`,
    removePinned: (name) => `${name} est toujours gardé. Le supprimer ?`,
    keepThem: 'Les garder',
    open: 'Ouvrir',
    goOn: 'Reprendre',
    goOnWith: (name) => `Reprendre ${name}`,
    pin: 'Toujours garder',
    unpin: 'Ne plus toujours garder',
    pinHint: 'Quand la place manque, d’autres modèles partent d’abord',
    what: (verb, name) => `${verb} ${name}`,
    packed: (amount) => `${amount} préparés pour une lecture plus rapide`,
    parts: (amount, parts) => `${amount} en ${parts} parties`,
    inUse: 'utilisé',
    coming: 'en route',
    used: (when) => `utilisé ${when}`,
    pinned: 'toujours gardé',
    verified: 'vérifié',
    newer: 'gardé par une version plus récente de cette page, que celle-ci ne peut pas lire',
  },

  back: {
    removed: (name) => `${name} n’est plus sur cet appareil.`,
    file: (name) => `Vous avez utilisé en dernier ${name}, un fichier de cet appareil.`,
    unknown: (name, file) =>
      `Vous avez utilisé en dernier ${name}, le fichier ${file} de cet appareil. Ce navigateur ne peut pas le retrouver tout seul.`,
    refused: (name) => `Le navigateur ne laisse pas cette page lire ${name}.`,
    gone: (name) => `${name} a été déplacé ou effacé.`,
    changed: (name, file) =>
      `${file} a changé depuis que vous l’avez utilisé en dernier comme ${name}.`,
    other: (name, file) =>
      `${file} n’est pas le fichier que vous avez utilisé comme ${name}, ou il a changé depuis.`,
    again: (host) => `Le reprendre sur ${host}`,
    open: (name) => `Rouvrir ${name}`,
    find: (file) => `Choisir de nouveau ${file}`,
    use: (file) => `Utiliser ${file} tel qu’il est maintenant`,
    own: 'Utiliser le modèle de cette page',
  },

  layers: {
    title: 'Couches',
    count: layersOf,
    embedding: 'plongement',
    head: 'tête',
    headIn: (parts) => `tête en ${parts} parties`,
    table: 'reste du plongement',
    whole: (n) => `Tout le modèle est en mémoire : ${layersOf(n)}.`,
    onTheirWay: (n) =>
      plural(n, {
        one: 'La couche du modèle est en route.',
        other: `Les ${layersOf(n)} du modèle sont en route.`,
      }),
    quarters: (quarters, n) =>
      `${['', 'Un quart', 'La moitié', 'Les trois quarts'][quarters] ?? ''} des ${layersOf(n)} du modèle ${quarters === 3 ? 'sont' : 'est'} en mémoire ; le reste est en route.`,
    stay: (stay, n, settled) => {
      const whose = `${stay === 0 ? 'Aucune' : stay === 1 ? 'Une' : stay} des ${layersOf(n)} du modèle`;
      if (stay === 0) return `${whose} ne ${settled ? 'reste' : 'restera'} en mémoire.`;
      if (settled) return `${whose} ${stay === 1 ? 'reste' : 'restent'} en mémoire.`;
      return `${whose} ${stay === 1 ? 'restera en mémoire et est' : 'resteront en mémoire et sont'} en route.`;
    },
    turns: (layers, parts, amount) => {
      const what =
        layers > 0
          ? layersOf(layers)
          : `${parts} ${plural(parts, { one: 'partie', other: 'parties' })}`;
      const turns = plural(layers > 0 ? layers : parts, {
        one: 'va et vient',
        other: 'se relaient',
      });
      return `${what} ${turns} : ${amount} sont relus pour chaque token.`;
    },
    stillComing: 'Le reste du modèle se télécharge encore.',
    kinds: { layer: 'Couche', embedding: 'Plongement', head: 'Tête', table: 'Reste du plongement' },
    partOf: (name, part, parts) => `${name}, partie ${part} sur ${parts}`,
    states: {
      absent: 'pas encore là',
      arriving: 'arrive',
      resident: 'en mémoire',
      computing: 'calcule maintenant',
    },
    notNow: 'pas là en ce moment',
    again: 'relu pour chaque token',
    legend: {
      absent: 'À venir',
      arriving: 'Arrive',
      resident: 'En mémoire',
      again: 'Relu',
      computing: 'Calcule',
    },
    network: 'Réseau',
    device: 'Cet appareil',
    ready: 'Couches prêtes',
    readAgain: 'Relu',
    waited: 'Attente',
    limit: 'Limite de mémoire',
  },

  history: {
    problems: {
      full: 'Il n’y a plus de place sur cet appareil, et ce qui a été dit en dernier n’est donc pas gardé. Effacez des conversations ou des modèles, ou exportez celle-ci.',
      none: 'Ce navigateur ne garde rien pour cette page, peut-être parce que la fenêtre est privée. Les conversations durent jusqu’à ce que vous fermiez la page ; exportez ce que vous voulez garder.',
      newer:
        'Un autre onglet a une version plus récente de cette page. Rechargez cet onglet pour continuer : ce qu’il n’a pas encore gardé est perdu, copiez-le donc avant.',
      failed:
        'La conversation n’a pas pu être gardée. Elle est encore là ; exportez-la pour plus de sûreté.',
    },
    markdown: {
      untitled: 'Conversation',
      system: 'Consigne',
      roles: { user: 'Vous', assistant: 'Réponse', tool: 'Outil' },
      reasoning: 'Réflexion',
    },
    exportMarkdown: 'Enregistrer en Markdown',
    exportJson: 'Enregistrer en JSON',
    allFile: 'Conversations Sluice',
    readOnly: 'Cette conversation s’écrit dans un autre onglet.',
    takeOver: 'Écrire ici',
  },

  transfer: {
    refused: (code, place, params) => `${transferWords[code](place, params)} Rien n’a été importé.`,
    imported: (n) =>
      plural(n, {
        one: `${count(n)} conversation importée`,
        other: `${count(n)} conversations importées`,
      }),
  },

  writing: {
    prompt: 'Début',
    write: 'Écrire',
    stop: 'Arrêter',
    keys: { enter: 'Entrée', writes: ' écrit, ', escape: 'Échap', stops: ' arrête' },
    ready: 'Prêt',
    noModel: 'Aucun modèle n’est chargé. Choisissez-en un d’abord.',
    waiting: 'Attend le modèle',
    waitingForRest: 'Attend le reste du modèle',
    reading: 'Lit le début',
    answering: 'Le modèle répond dans la conversation',
    promptSoFar: (facts) => `Début : ${facts}`,
    tokensAt: (amount, rate) => `${amount} · ${rate} tokens/s`,
    bar: 'Écriture',
    toTheEnd: 'Vers la fin',
    text: 'Texte',
    xray: 'Rayons X',
    xrayHint: 'Parmi quoi chaque mot a été choisi',
    empty: 'Ce que le modèle écrit apparaît ici, mot après mot.',
    openings: 'Ou commencez par l’un de ceux-ci :',
    beginnings: [
      'La lettre était depuis trois jours sur la table de la cuisine quand',
      'Comment une rivière trouve le chemin de la mer : elle commence',
      'Chère lectrice, dans cent ans,',
    ],
    continuesStories:
      'Ce modèle continue des histoires en anglais. Pour discuter, ouvrez un modèle de discussion.',
    continuesTexts: 'Ce modèle continue des textes. Pour discuter, ouvrez un modèle de discussion.',
    openModels: 'Ouvrir un modèle de discussion',
    endings: {
      eos: 'Le texte est arrivé à sa fin',
      length: 'Arrêté à la longueur réglée',
      stop: 'Arrêté à un texte d’arrêt',
      aborted: 'Arrêté',
      context: 'Le contexte est plein',
      failed: 'Interrompu',
    },
    ended: (how, amount) => `${how} : ${amount}`,
    seed: 'graine',
    writtenBy: (name) => `écrit par ${name}`,
    keepSeed: 'Garder cette graine',
    seedKept: 'La graine est gardée dans les réglages',
    continue: 'Continuer',
    again: 'Encore',
    copy: 'Copier',
    copied: 'Copié',
    copyLink: 'Copier le lien',
    linkCopied: 'Lien copié',
    linkWithoutModel: (name) =>
      `Le lien ne contient pas le modèle : ${name} est un fichier de cet appareil.`,
    linkWithoutPrompt: 'Ce texte est trop long pour un lien.',
    finds: (name) => `${name} n’écrit rien : il trouve des passages dans des fichiers.`,
    findWith: 'Aller à Trouver',
    pager: 'Textes de cette visite',
    place: (n, all) => `${n} sur ${all}`,
    previous: 'Texte précédent',
    next: 'Texte suivant',
    writing: 'Écrit',
    done: (amount) => `Fini : ${amount}`,
    stopped: (amount) => `Arrêté : ${amount}`,
  },

  masks: {
    text: 'Texte avec des masques',
    insert: (mask) => `Insérer ${mask}`,
    fill: 'Trouver les mots',
    back: 'Reprendre le dernier mot',
    heading: 'Mots',
    empty: (mask) =>
      `Écrivez un texte avec ${mask} à la place d’un mot : les mots qui conviennent le mieux apparaissent ici, au choix.`,
    examples: [
      'Paris est la [MASK] de la France.',
      'Après la pluie, la [MASK] sentait la [MASK].',
      'Elle ouvrit la lettre et se mit à [MASK].',
    ],
    press: 'Appuyez sur « Trouver les mots ».',
    looking: 'Cherche des mots',
    done: 'Tous les masques sont remplis.',
    one: 'mot',
    numbered: (n) => `mot ${n}`,
    wordsForOne: 'Choisir un mot',
    wordsFor: (n) => `Choisir le mot ${n}`,
    found: (words) => `Les plus probables : ${words}`,
    put: (word) => `${word} est dans le texte`,
  },

  find: {
    heading: 'Trouver dans vos fichiers',
    about:
      'Ajoutez des fichiers texte et posez une question avec vos mots : les passages qui conviennent le mieux apparaissent, même s’ils emploient d’autres mots. Les fichiers sont lus sur cet appareil et y restent.',
    question: 'Que cherchez-vous ?',
    find: 'Trouver',
    found: (n, question) =>
      n === 0
        ? `Rien trouvé pour « ${question} »`
        : `${passages(n)} pour « ${question} », le meilleur d’abord`,
    line: (n) => `ligne ${count(n)}`,
    source: (name, line) => `${name}, ligne ${line}`,
    all: 'Tout montrer',
    less: 'Montrer moins',
    attach: 'Joindre à la conversation',
    attached: 'Joint',
    attachedTo: (n) =>
      plural(n, {
        one: 'Un passage est joint au prochain message que vous écrirez.',
        other: `${passages(n)} sont joints au prochain message que vous écrirez.`,
      }),
    toTalk: 'Aller à la conversation',
    copy: 'Copier le passage',
    partOnly:
      'Quelques fichiers ne sont pas encore lus jusqu’au bout : on trouvera peut-être plus ensuite.',
    files: 'Fichiers',
    choose: 'Ajouter des fichiers',
    folder: 'Ajouter un dossier',
    drop: 'Ou déposez-les ici. Textes bruts de toute sorte, jusqu’à 10 Mo chacun : .txt, .md, .csv, .html, code.',
    facts: (n, size) =>
      size > 0 ? `${passages(n)} · ${bytes(size)}` : `${passages(n)} · pas gardé`,
    part: (done, n) => `${count(done)} sur ${passages(n)} lus`,
    others: (name) => `Lu par un autre modèle, ${name}. Relisez-le pour y chercher maintenant.`,
    readAgain: 'Relire',
    readAgainName: (name) => `Relire ${name}`,
    damaged: 'Un fichier gardé ici est abîmé. Il ne peut qu’être supprimé.',
    newer: 'Une version plus récente de cette page garde ce fichier.',
    damagedName: 'Fichier abîmé',
    remove: 'Supprimer',
    removeName: (name) => `Supprimer ${name}`,
    removeQuestion: (name) => `Supprimer ${name} d’ici ? Votre propre fichier reste où il est.`,
    keepIt: 'Le garder',
    removed: (name) => `${name} est supprimé`,
    reading: 'Lit les fichiers',
    progress: (done, total) => `${count(done)} sur ${passages(total)}`,
    stop: 'Arrêter',
    goOn: 'Reprendre la lecture',
    toRead: (n) =>
      plural(n, {
        one: `${count(n)} fichier n’est pas lu jusqu’au bout.`,
        other: `${count(n)} fichiers ne sont pas lus jusqu’au bout.`,
      }),
    stopped: 'Arrêté. On peut chercher dans ce qui est lu.',
    allRead: 'Tous les fichiers sont lus',
    elsewhere: 'Un autre onglet lit des fichiers. Cela reprend ici après.',
    full: 'Cet appareil n’a plus de place pour garder ce qui a été lu. On peut y chercher jusqu’à ce que vous fermiez la page. Supprimez ici des fichiers, ou des modèles, et reprenez.',
    failed:
      'Le navigateur ne laisse pas cette page garder les fichiers. On peut y chercher jusqu’à ce que vous la fermiez.',
    never: 'Dans ce navigateur, les fichiers restent ici jusqu’à ce que vous fermiez la page.',
    removeModels: 'Modèles de cet appareil',
    again: 'Essayer de nouveau de les garder',
    needs: (name) =>
      `${name} écrit des textes. Pour trouver des passages, ouvrez un modèle qui compare des textes.`,
    needsFills: (name) =>
      `${name} remplit des mots masqués. Pour trouver des passages, ouvrez un modèle qui compare des textes.`,
    noModel: 'Pour trouver des passages, ouvrez un modèle qui compare des textes.',
    openModel: 'Choisir un modèle',
    held: 'Le modèle est occupé ailleurs dans cette page',
    notRead: (n) =>
      plural(n, {
        one: `${count(n)} fichier n’a pas été ajouté :`,
        other: `${count(n)} fichiers n’ont pas été ajoutés :`,
      }),
    andMore: (n) => `et ${count(n)} de plus`,
    why: {
      long: 'plus de 10 Mo. Coupez-le en plusieurs parties.',
      lost: 'n’a pas pu être lu. Existe-t-il encore ?',
      empty: 'il ne contient pas de texte.',
      pdf: 'un PDF. Sluice ne sait pas encore en lire.',
      picture: 'une image.',
      office: 'un document bureautique. Enregistrez-le d’abord comme texte.',
      archive: 'une archive. Ouvrez-la d’abord.',
      sound: 'un son.',
      film: 'un film.',
      model: 'un modèle. Appuyez sur le nom du modèle actuel pour l’ouvrir.',
      weights: 'un modèle, et pas un texte.',
      other: 'pas un fichier texte.',
    },
    kept: 'Fichiers de Trouver',
    keptFacts: (n, size) =>
      `${count(n)} ${plural(n, { one: 'fichier', other: 'fichiers' })} · ${bytes(size)}`,
    removeAllQuestion:
      'Supprimer d’ici tous les fichiers de Trouver ? Vos propres fichiers restent où ils sont.',
  },

  insideMaps: {
    keep: 'Garder et partager',
    open: 'Ouvrir un enregistrement',
    openHint:
      'Un fichier sauvé ici, ou un de « sluice run --trace ». Vous pouvez aussi le déposer sur la page.',
    by: (model) => `Écrit avec ${model || 'un modèle sans nom'}.`,
    without:
      'Son modèle n’est pas chargé : vous voyez parmi quoi chaque token a été choisi, sans les filtres. Chargez le modèle pour tout voir.',
    noTokens: 'Il n’y a aucun token dans cet enregistrement.',
    prompt: 'Début du texte',
    opening: 'Le fichier est en cours de lecture.',
    refused: (code, line, field) => traceFileWords[code](line, field),
    cut: 'L’exécution qui écrivait ce fichier a été arrêtée : sa dernière ligne est incomplète et a été laissée de côté.',
    save: 'Sauver l’enregistrement',
    saved: 'L’enregistrement est sauvé',
    saveHint:
      'Tous les tokens et ce parmi quoi ils ont été choisis, en lignes JSON : pour « sluice replay » et pour cette page.',
    picture: 'Sauver en image',
    pictureSaved: 'L’image est sauvée',
    noPicture: 'Ce navigateur ne peut pas en faire une image.',
    copyTable: 'Copier en tableau',
    unkept:
      'Cet appareil n’a pas la place de garder cela avec le texte : à la prochaine visite, ce sera recalculé.',
    fileOf: (token) => `token ${token}`,
    columns: [
      'Token',
      'Numéro',
      'Probabilité',
      'Après pénalités',
      'Au tirage',
      'Écarté par',
      'Pris',
    ],
    taken: 'pris',

    layers: 'Couches',
    layer: (n) => `Couche ${n}`,
    notNow: 'Pas pendant que le modèle écrit.',
    stop: 'Arrêter',
    failed: 'Le calcul n’a pas abouti.',

    lens: {
      title: 'Ce que chaque couche aurait dit',
      about:
        'Un modèle lit un texte en couches. Pour chaque token, la carte montre ce qui serait venu si le modèle s’était arrêté après cette couche.',
      compute: 'Calculer la carte',
      computeHere: 'Calculer autour de ce token',
      progress: 'Avancement du calcul de la carte',
      of: (from, to) => `Tokens ${from} à ${to}`,
      colour: 'Couleur',
      colours: {
        probability: 'À quel point la couche est sûre',
        divergence: 'À quel point elle est loin de la fin',
      },
      hint: 'Les flèches du clavier mènent à travers la carte.',
      corner: 'Couche',
      cell: (token, p) => `${token}, ${p}`,
      column: (place, token) => `${place}, ${token}`,
      at: (layer, token) => `${layer}, avant ${token}`,
      entropy: 'Entropie',
      divergence: 'Écart avec la dernière couche',
    },

    arcs: {
      title: 'Ce que le modèle a regardé',
      about:
        'L’attention : combien chaque tête d’une couche a pris des tokens d’avant pour choisir celui-ci. Plus l’arc est large, plus il y en a.',
      compute: 'Calculer l’attention',
      computeHere: 'Calculer pour ce token',
      layer: 'Couche',
      head: 'Tête',
      mean: 'Moyenne de toutes les têtes',
      headOf: (n) => `Tête ${n}`,
      hint: 'Les flèches du clavier mènent le long des mots, et vers le haut et le bas à travers les couches.',
      earlier: (n, tokens) =>
        plural(n, { one: '1 token avant ceux-ci', other: `${tokens} tokens avant ceux-ci` }),
      chosen: (token) => `Puis vint ${token}.`,
      told: (place, token, p) => `${place} : ${token}, ${p}`,
      table: (layer, head) => `Les tokens les plus regardés : ${layer}, ${head}`,
      token: 'Token',
      weight: 'Attention',
      some: (n, layers) =>
        plural(n, {
          one: `La couche ${layers} n’a pas d’attention : elle retient ce qu’elle a lu dans un état à elle.`,
          other: `Les couches ${layers} n’ont pas d’attention : elles retiennent ce qu’elles ont lu dans un état à elles.`,
        }),
      none: 'Les couches de ce modèle n’ont pas d’attention : elles retiennent ce qu’elles ont lu dans un état à elles.',
    },
  },

  markdown: {
    copy: 'Copier',
    copied: 'Copié',
    selected: 'Sélectionné',
    code: 'Code',
    codeIn: (language) => `Code, ${language}`,
    copyCode: (language) => (language === '' ? 'Copier le code' : `Copier le code, ${language}`),
    table: 'Tableau',
    formula: 'Formule',
    image: 'Image :',
    done: 'Fait',
    open: 'À faire',
    newTab: (host) => `${host} (s’ouvre dans un nouvel onglet)`,
    codeLines: (n) => `code, ${count(n)} ${plural(n, { one: 'ligne', other: 'lignes' })}`,
  },

  xray: {
    title: 'Rayons X',
    close: 'Fermer les rayons X',
    intro:
      'Un modèle de langue donne une note à chaque token qu’il connaît, et le suivant est tiré parmi les meilleurs. Parcourez le texte pas à pas pour voir parmi quoi chaque token a été tiré, puis essayez ce qu’une autre température, ou un autre token, en aurait fait.',
    introDone: 'Compris',
    nothing: {
      text: 'Écrivez un texte : vous verrez ici parmi quoi chacun de ses tokens est choisi.',
      model: 'Aucun modèle n’est chargé : il faut celui qui a écrit le texte.',
      tokens:
        'On ne sait pas de quels tokens ce texte est fait. Faites-le écrire de nouveau pour les voir.',
      waiting: 'Le premier token arrive.',
    },
    other: (by) =>
      `${by ?? 'Un autre modèle'} a écrit ce texte. Ce n’est pas le modèle chargé, et seul le modèle qui a écrit un texte peut dire parmi quoi il a choisi.`,
    computing: (done, total) =>
      `Personne ne regardait pendant l’écriture : le calcul se fait maintenant. ${done} tokens sur ${total}`,
    progress: 'Où en est le calcul',
    stop: 'Arrêter',
    missing: 'Personne ne regardait quand ce token a été écrit.',
    firstOfAll: 'Rien ne précède ce token : il n’a été choisi parmi rien.',
    compute: 'Calculer maintenant',
    failed: 'Le calcul a échoué.',
    unsure:
      'On ne sait pas exactement ce qui précédait cette réponse quand elle a été écrite : elle ne peut pas être calculée après coup.',
    retold:
      'Personne n’a gardé les tokens de cette réponse : ceux-ci sont ceux que le modèle tire maintenant de son texte, avec les réglages actuels.',
    yours: 'Vous avez choisi ce token à la place d’un autre.',
    line: 'Au fil du texte',
    surprise: 'Surprise',
    entropy: 'Entropie',
    shadeBy: 'Teinte',
    shades: { surprise: 'Surprise', entropy: 'Entropie', none: 'Aucune' },
    bits: (n) => `${n} bits`,
    tokenOf: (token, all) => `Token ${token} sur ${all}`,
    told: (place, token, surprise) => `${place} : ${token}, surprise ${surprise}`,
    player: 'Pas',
    begin: 'Au premier token',
    back: 'Token précédent',
    play: 'Lire',
    pause: 'Pause',
    next: 'Token suivant',
    end: 'Au dernier token',
    speed: 'Vitesse',
    perSecond: (n) => `${n}/s`,
    probability: 'Probabilité',
    nucleus: 'Noyau',
    nucleusOf: (n, all, mass) =>
      plural(n, { one: `1 token, ${mass}`, other: `${all} tokens, ${mass}` }),
    place: 'Nombre aléatoire',
    surpriseHint:
      'Surprise : à quel point le token était improbable. Un bit, c’est un jet de pièce.',
    entropyHint:
      'Entropie : à quel point le modèle hésitait. Trois bits, c’est huit tokens de même chance.',
    filters: 'Filtres, l’un après l’autre',
    step: {
      penalties: 'pénalités',
      topNSigma: 'top-n-sigma',
      topK: 'top-k',
      typicalP: 'typical-p',
      topP: 'top-p',
      minP: 'min-p',
      xtc: 'XTC',
      temperature: 'température',
    },
    left: (n, mass) => `restent ${n}, ${mass}`,
    candidates: (token) => `Candidats pour le token ${token}`,
    columns: {
      token: 'Token',
      before: 'Modèle',
      after: 'Tirage',
      cut: 'Écarté par',
    },
    taken: 'pris',
    would: 'serait pris',
    changed: 'pénalités',
    more: 'Plus de candidats',
    fewer: 'Moins de candidats',
    writeOn: (token) => `Continuer avec ${token}`,
    writeOnHint: 'Choisissez un token pour continuer avec lui à cet endroit, dans un autre texte.',
    space: 'espace',
    whatIf: 'Et si',
    whatIfHint: 'Les barres sont celles qu’un passage avec ces réglages aurait eues pour ce token.',
    samplers: { temperature: 'Température', topK: 'Top-k', topP: 'Top-p', minP: 'Min-p' },
    off: 'sans',
    asWritten: 'Comme écrit',
    anew: 'Ce qui est gardé ne suffit pas pour ces réglages : ce token a été calculé de nouveau.',
    branches: 'Branches',
    parent: (token) => `Le texte dont celui-ci vient, avant ${token}`,
    child: (token) => `Un autre texte, à partir de ${token}`,
  },
};
